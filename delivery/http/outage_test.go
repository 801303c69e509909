package http_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
)

// newFailingServer returns a server whose store fails while failing is true.
func newFailingServer(t *testing.T, failing *atomic.Bool) *testServer {
	t.Helper()
	fail := func() error {
		if failing.Load() {
			return domain.Unavailable(errors.New("connection refused"))
		}
		return nil
	}
	s := newUnstartedServer(t)
	s.health = server.NewHealth(func(context.Context) error { return fail() })
	s.start(t, s.engine(t, nil, func(services *rest.Options) {
		withGet(func(context.Context, int64) (domain.Pet, error) {
			return domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, fail()
		})(services)
		withCreate(func(context.Context) (domain.Pet, error) {
			return domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, fail()
		})(services)
	}))
	return s
}

// wantOutages expects log entries with these messages, the numbers of failed requests in
// those of an end, and no error but those of a beginning.
func (s *testServer) wantOutages(t *testing.T, want ...any) {
	t.Helper()
	var got []any
	for _, entry := range s.log.All() {
		if entry.Level == zap.DebugLevel || entry.Message == "request" {
			continue
		}
		got = append(got, entry.Message)
		if failed, ended := entry.ContextMap()["failed_requests"]; ended {
			got = append(got, failed)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestOutageOfTheStoreIsLoggedAtItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	s := newFailingServer(t, &failing)
	const begins, ends = "the store is not available", "the store is available again"
	for range 2 {
		s.log.TakeAll()
		failing.Store(true)
		for _, r := range []request{get("/v1/pets/1"), postPet(newRex), get("/readyz"), postPet(newRex)} {
			s.expect(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1"))
		}
		s.wantOutages(t, begins)
		failing.Store(false)
		s.clock.advance(time.Second)
		s.expect(t, get("/v1/pets/1"), wantResponse{status: 200})
		s.wantOutages(t, begins) // writes may still fail
		s.expect(t, postPet(newRex), wantResponse{status: 201})
		s.wantOutages(t, begins) // it may still not be ready
		s.expect(t, get("/readyz"), ok(""))
		s.wantOutages(t, begins, ends, int64(4))
	}
}

func TestReadinessEndsAnOutageThatItBegan(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	failing.Store(true)
	s := newFailingServer(t, &failing)
	s.expect(t, get("/readyz"), rejected(503, "unavailable"))
	failing.Store(false)
	s.clock.advance(time.Second)
	s.expect(t, get("/livez"), ok("")) // does not use the store
	s.wantOutages(t, "the store is not available")
	s.expect(t, get("/readyz"), ok(""))
	s.wantOutages(t, "the store is not available", "the store is available again", int64(1))
}

func TestStoreThatFailsNowAndThenDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	s := newFailingServer(t, &failing)
	for range 10 {
		failing.Store(true)
		s.expect(t, postPet(newRex), rejected(503, "unavailable"))
		failing.Store(false)
		s.expect(t, postPet(newRex), wantResponse{status: 201})
	}
	s.wantOutages(t, "the store is not available")
	s.clock.advance(time.Second)
	s.expect(t, postPet(newRex), wantResponse{status: 201})
	s.wantOutages(t, "the store is not available", "the store is available again", int64(10))
}

func TestFailureLongAfterTheLastOneIsLoggedAgain(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	s := newFailingServer(t, &failing)
	failing.Store(true)
	s.expect(t, postPet(newRex), rejected(503, "unavailable")) // nobody writes again
	failing.Store(false)
	s.clock.advance(time.Minute)
	s.expect(t, get("/v1/pets/1"), wantResponse{status: 200})
	failing.Store(true)
	for range 2 {
		s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable"))
	}
	s.wantOutages(t, "the store is not available", "the store is not available")
}
