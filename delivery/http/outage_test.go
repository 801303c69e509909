package http_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

func TestEndOfAnOutageIsLoggedWithItsLength(t *testing.T) {
	t.Parallel()
	down := true
	s := newTestServer(t, withCall(func(context.Context) error {
		if down {
			return domain.Unavailable(errors.New("the disk is full"))
		}
		return nil
	}))
	back := func() int { return s.log.FilterMessage("the store is available again").Len() }
	began := time.Now().Truncate(time.Millisecond) // as the begin of an outage
	s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable"))
	s.expect(t, postPet(newRex), rejected(503, "unavailable"))
	s.expect(t, get("/v1/pets"), ok(`[]`)) // reads are back
	if entries := back(); entries != 0 && time.Since(began) < time.Second {
		t.Errorf("got %d entries after a short outage, want none", entries)
	}
	s.log.TakeAll()              // on a slow machine, the outage was long
	s.clock.advance(time.Minute) // an entry is written once a minute
	failed := time.Now()
	testkit.WaitUntil(t, "the outage is long", func() bool { return time.Since(failed) > 1100*time.Millisecond })
	s.expect(t, get("/v1/pets"), ok(`[]`))
	testkit.Equal(t, "the entries while writes fail", 0, back())
	down = false
	for range 2 {
		s.expect(t, postPet(newRex), created(createdRex))
	}
	if back() != 1 {
		t.Fatalf("got %d entries after the outage, want 1", back())
	}
	entry := s.log.FilterMessage("the store is available again").All()[0].ContextMap()
	if after, _ := entry["after"].(time.Duration); entry["reads"] != false || after < time.Second || after > time.Since(began) {
		t.Errorf("got the entry %v, want how long writes failed", entry)
	}
}
