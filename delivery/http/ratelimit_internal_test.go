package http

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestRateLimitHoldsForConcurrentRequestsOfManyCallers(t *testing.T) {
	t.Parallel()
	limits, now := newRateLimits(RateLimit{10, time.Minute}), time.Now()
	allowed := func(caller string) int32 {
		var n atomic.Int32
		var wait sync.WaitGroup
		start := make(chan struct{})
		for range 64 {
			wait.Go(func() {
				<-start
				if limits.of(caller).AllowN(now, 1) {
					n.Add(1)
				}
			})
		}
		close(start)
		wait.Wait()
		return n.Load()
	}
	for i := range 200 {
		if first, again := allowed(fmt.Sprint("ann", i)), allowed(fmt.Sprint("ann", i)); first != 10 || again != 0 {
			t.Errorf("got %d and then %d allowed requests, want 10 and 0", first, again)
		}
	}
	for i := range maxCallers {
		limits.of(fmt.Sprint(i)).AllowN(now, 1)
	}
	last := fmt.Sprint(maxCallers - 1)
	if forgotten, known := allowed("ann0"), allowed(last); forgotten != 10 || known != 9 {
		t.Errorf("got %d allowed requests of an early caller and %d of the last, want a full bucket and 9", forgotten, known)
	}
	fast := newRateLimits(RateLimit{2_000_000_000, time.Second}).of("ann") // more than one per nanosecond
	if allowed, remaining := fast.AllowN(now, 1), fast.TokensAt(now); !allowed || remaining != 1_999_999_999 {
		t.Errorf("got %t and %f remaining requests, want 1999999999", allowed, remaining)
	}
}
