package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
)

func TestUnknownErrorIsInternalErrorAndOnlyLogged(t *testing.T) {
	t.Parallel()
	expect := func(s *testServer, r request, cause string, hidden ...string) {
		t.Helper()
		res := s.expect(t, r, rejected(500, "internal_error").withoutText(hidden...))
		logged := s.log.FilterField(zap.String("request_id", res.Header.Get("X-Request-Id"))).FilterFieldKey("error").All()
		if len(logged) != 1 || !strings.Contains(fmt.Sprint(logged[0].ContextMap()["error"]), cause) {
			t.Errorf("got the log entries %v, want one with %q", logged, cause)
		}
	}
	var err error
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { return "ann", err }))
	for _, err = range []error{
		errors.New("hidden detail"),
		domain.ErrNotFound,
		&domain.Error{Kind: "hidden detail", Code: "hidden detail", Message: "hidden detail"},
		&domain.Error{Kind: domain.ErrUnauthenticated, Message: "hidden detail"},
	} {
		expect(s, get("/v1/pets"), err.Error(), "hidden detail")
	}
	s = newTestServer(t)
	for _, test := range []struct {
		table string
		request
	}{
		{"pets", get("/v1/pets")},
		{"orders", get("/v1/store/orders")},
		{"idempotency_keys", postPet(newRex, "Idempotency-Key: one")},
		{"api_keys", get("/v1/pets", "Authorization: Bearer "+apikey.Generate())}, // not cached
	} {
		s.removeTable(t, test.table)
		expect(s, test.request, test.table, test.table+":", "table")
	}
}

// Reads, writes and health checks may fail each.
func TestOutageOfTheStoreIsLoggedAtItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	var failure error
	s := newUnstartedServer(t)
	s.health = server.NewHealth(func(context.Context) error { return failure })
	s.start(t, s.engine(t, withCall(func(context.Context) error { return failure })))
	const begins, ends = "the store is not available", "the store is available again"
	wantLog := func(want ...any) {
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
	read, write, ready := get("/v1/pets/1"), postPet(newRex), get("/readyz")
	fail := func(requests ...request) {
		t.Helper()
		failure = domain.Unavailable(errors.New("connection refused"))
		for _, r := range requests {
			s.expect(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1").withoutText("refused"))
		}
		failure = nil
	}
	for range 2 {
		s.log.TakeAll()
		fail(read, write, ready, write)
		wantLog(begins)
		s.clock.advance(time.Second)
		s.expect(t, read, ok("")) // writes may still fail
		s.expect(t, write, created(""))
		s.expect(t, get("/livez"), ok("")) // does not use the store, which may still not be ready
		wantLog(begins)
		s.expect(t, ready, ok(""))
		wantLog(begins, ends, int64(4))
	}
	s.log.TakeAll()
	for range 10 { // a store that fails now and then does not fill the log
		fail(write)
		s.expect(t, write, created(""))
	}
	wantLog(begins)
	s.clock.advance(time.Second)
	s.expect(t, write, created(""))
	wantLog(begins, ends, int64(10))

	s.log.TakeAll()
	fail(write) // nobody writes again
	s.clock.advance(time.Minute)
	s.expect(t, read, ok(""))
	fail(read, read)
	wantLog(begins, begins)
}

func TestExceededDeadlineIsUnavailable(t *testing.T) {
	t.Parallel()
	unavailable := rejected(503, "unavailable").withoutText("deadline")
	blocked := withAuthenticator(func(c *gin.Context) (string, error) { return "", untilDone(c.Request.Context()) })
	s := newTestServer(t, blocked, withRequestTimeout(time.Millisecond))
	s.expect(t, get("/v1/pets/1"), unavailable.withHeader(deprecationHeaders...))

	s = newTestServer(t, withRequestTimeout(time.Second))
	err := s.store.InTx(t.Context(), func(context.Context, port.Repositories) error { // a request waits for this transaction
		s.expect(t, postPet(newRex, "Idempotency-Key: one"), unavailable)
		return nil
	})
	check(t, err)
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.expect(t, postPet(newRex, "Idempotency-Key: one"), created("").withHeader(notReplayed))
}

// The cause of signal.NotifyContext is context.Canceled for errors.Is, as if the client had disconnected.
func TestRequestIsUnavailableWhenTheHostEndsItsContext(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	var end context.CancelCauseFunc
	s.startAfter(t, func(c *gin.Context) {
		var ctx context.Context
		ctx, end = context.WithCancelCause(c.Request.Context())
		c.Request = c.Request.WithContext(ctx)
	}, nil, withCall(func(ctx context.Context) error {
		end(fmt.Errorf("hangup: %w", context.Canceled))
		return untilDone(ctx)
	}))
	s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable"))
	s.wantAccessLog(t, 503)
}

func TestShutdownClosesConnectionsAfterTimeout(t *testing.T) {
	t.Parallel()
	s, started, timeouts := newUnstartedServer(t), make(chan struct{}), longTimeouts
	timeouts.Shutdown = 50 * time.Millisecond
	stop, served := s.serve(t, s.engine(t, withCall(func(ctx context.Context) error { close(started); return untilDone(ctx) })), timeouts)
	failed := make(chan bool, 1)
	go func() {
		res, err := s.send(t.Context(), get("/v1/pets/42"))
		failed <- err != nil || res.StatusCode == 503
	}()
	<-started
	stop()
	if err := <-served; !errors.Is(err, context.DeadlineExceeded) || !<-failed {
		t.Errorf("Serve returned %v, want %v and that the running request fails", err, context.DeadlineExceeded)
	}
	s.wantAccessLog(t, 503)
}

// wantAccessLog waits for the only line of the access log, which must have this status.
func (s *testServer) wantAccessLog(t *testing.T, status int64) {
	t.Helper()
	waitUntil(t, "the access log has one line", func() bool { return len(s.accessLog(t)) == 1 })
	if line := s.accessLog(t)[0]; line["status"] != status {
		t.Errorf("got the access log %v, want the status %d", line, status)
	}
}

func TestClientDisconnectIsRecordedAs499(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		disconnect func(net.Conn) error
		err        error
		status     int64
		level      zapcore.Level
		message    string
	}{
		"closed":      {net.Conn.Close, context.Canceled, 499, zap.DebugLevel, "the client disconnected"},
		"half closed": {func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() }, context.Canceled, 499, zap.DebugLevel, "the client disconnected"},
		"later error": {net.Conn.Close, context.DeadlineExceeded, 503, zap.ErrorLevel, "the store is not available"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, started := newUnstartedServer(t), make(chan struct{})
			engine := gin.New()
			engine.Use(gin.RecoveryWithWriter(io.Discard)) // of a host
			s.startHost(t, engine, s.api(t, withCall(func(ctx context.Context) error {
				close(started)
				<-ctx.Done()
				return domain.Unavailable(test.err)
			})))
			conn := s.dial(t, "GET /v1/pets/1 HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer "+s.key+"\r\n\r\n")
			<-started
			check(t, test.disconnect(conn))
			s.wantAccessLog(t, test.status)
			if got := s.log.FilterLevelExact(test.level).FilterMessage(test.message).Len(); got != 1 || s.log.Len() != 2 {
				t.Errorf("got log %v, want the access log line and %q", s.log.All(), test.message)
			}
			counts := map[string]int{fmt.Sprintf("GET /v1/pets/:petId %d", test.status): 1}
			if diff := cmp.Diff(counts, s.requestCounts(t)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if name == "half closed" {
				if received, err := io.ReadAll(conn); err != nil || len(received) > 0 {
					t.Errorf("received %q and error %v, want nothing", received, err)
				}
			}
		})
	}
}
