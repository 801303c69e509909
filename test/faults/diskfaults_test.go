package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// TestFailingDiskRefusesWritesAndRecovers makes the disk fail for a while under load. No restart
// is needed, and a write that was refused is not in the store.
func TestFailingDiskRefusesWritesAndRecovers(t *testing.T) {
	for name, f := range map[string]faultsOf{
		"full":         {writeError: syscall.ENOSPC},
		"read-only":    {writeError: syscall.EROFS},
		"failing":      {writeError: syscall.EIO},
		"failing sync": {syncError: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, l := t.TempDir(), newLedger()
			d := newDisk(t, folder, false)
			s := start(t, folder, "", d.environ...)
			var unavailable atomic.Int64
			for round := range pick(2, 10) {
				c := newClients(l, s, 32)
				c.failed = func(status int, body string) {
					if unavailable.Add(1); status != http.StatusServiceUnavailable {
						t.Errorf("got %d %s, want 503", status, body)
					}
				}
				injected := make(chan error, 1)
				time.AfterFunc(200*time.Millisecond, func() { injected <- d.tryInject(f) })
				c.during(t, 500*time.Millisecond, 32, fmt.Sprint("before", round))
				harness.Check(t, <-injected)
				s.WantStatus(t, "/v1/pets", http.StatusOK)
				d.inject(t, faultsOf{})
				after := newClients(l, s, 32)
				after.during(t, 300*time.Millisecond, 32, fmt.Sprint("after", round))
				if after.sales.Load() == 0 {
					t.Errorf("no animal was sold after the fault: %s", s.Log)
				}
			}
			s.WantStatus(t, "/readyz", http.StatusOK)
			if unavailable.Load() == 0 {
				t.Error("no request was refused with 503")
			}
			l.retryAndCompare(t, s, folder)
			figures.add(t, "%v, %d of them with 503; lost 0, doubled 0", l, unavailable.Load())
		})
	}
}

// TestFailingReadsAreRefusedAndRecover makes reads fail for a while under load. What is not in a
// cache gets 503, and no response is wrong. A write of another process makes SQLite read again.
func TestFailingReadsAreRefusedAndRecover(t *testing.T) {
	folder, l := t.TempDir(), newLedger()
	d := newDisk(t, folder, false)
	s := start(t, folder, "", d.environ...)
	newClients(l, s, 16).during(t, 500*time.Millisecond, 16, "before")
	var refusedWrites atomic.Int64
	reads, refusedReads := 0, 0
	for round := range pick(2, 10) {
		before := l.added()
		reads += len(before)
		c := newClients(l, s, 16)
		c.failed = func(status int, body string) {
			if refusedWrites.Add(1); status != http.StatusServiceUnavailable {
				t.Errorf("got %d %s, want 503", status, body)
			}
		}
		d.inject(t, faultsOf{readError: syscall.EIO})
		createKey(t, folder)
		var wait sync.WaitGroup
		wait.Go(func() { c.during(t, 500*time.Millisecond, 16, fmt.Sprint("failing", round)) })
		refusedReads += s.wantRightOrUnavailable(t, before)
		wait.Wait()
		d.inject(t, faultsOf{})
		if refused := s.wantRightOrUnavailable(t, before); refused > 0 {
			t.Errorf("%d of %d reads were refused after the fault: %s", refused, len(before), s.Log)
		}
		after := newClients(l, s, 16)
		after.during(t, 300*time.Millisecond, 16, fmt.Sprint("after", round))
		if after.sales.Load() == 0 {
			t.Errorf("no animal was sold after the fault: %s", s.Log)
		}
	}
	s.WantStatus(t, "/readyz", http.StatusOK)
	if refusedReads == 0 || refusedWrites.Load() == 0 {
		t.Errorf("got %d reads and %d writes with 503, want some", refusedReads, refusedWrites.Load())
	}
	l.retryAndCompare(t, s, folder)
	figures.add(t, "%v, %d of them with 503; %d of %d reads with 503; lost 0, doubled 0", l, refusedWrites.Load(), refusedReads, reads)
}

// wantRightOrUnavailable gets some animals, each of which is in the response, or that is 503. It
// returns how many are 503.
func (s *server) wantRightOrUnavailable(t *testing.T, names map[int64]string) (unavailable int) {
	t.Helper()
	for id, name := range names {
		status, pet, err := s.get(harness.Client, fmt.Sprint("/v1/pets/", id))
		harness.Check(t, err)
		switch {
		case status == http.StatusServiceUnavailable:
			unavailable++
		case status != http.StatusOK || !strings.Contains(pet, fmt.Sprintf("%q", name)):
			t.Errorf("GET /v1/pets/%d: got %d %s, want %s or 503", id, status, pet, name)
		}
	}
	return unavailable
}

// TestSlowDiskDelaysWritesOnly makes each sync take a second. Commits are shared, so every
// client is served, and reads do not wait.
func TestSlowDiskDelaysWritesOnly(t *testing.T) {
	folder, l := t.TempDir(), newLedger()
	d := newDisk(t, folder, false)
	s := start(t, folder, "", d.environ...)
	const syncDelay = time.Second
	d.inject(t, faultsOf{syncDelay: syncDelay})
	c := newClients(l, s, 64)
	c.failed = func(status int, body string) { t.Errorf("got %d %s, want no error", status, body) }
	ctx, cancel := context.WithCancel(t.Context())
	reads := make(chan *latencies)
	go func() { reads <- s.read(ctx, 4) }()
	c.during(t, pick(3*time.Second, 30*time.Second), 64, "slow")
	cancel()
	listed := <-reads
	d.inject(t, faultsOf{})
	s.Stop(t)
	l.wantStore(t, folder)
	if listed.p99() >= syncDelay {
		t.Errorf("the 99th percentile of a read is %v, want less than a sync", listed.p99())
	}
	figures.add(t, "%v; the 99th percentile of a read is %v meanwhile", l, listed.p99())
}

// TestLockedStoreIsWaitedFor locks the store in another process. Writes wait for five seconds,
// then they are refused with 503, and reads are served.
func TestLockedStoreIsWaitedFor(t *testing.T) {
	for held, wantRefused := range pick(
		map[time.Duration]bool{3 * time.Second: false, 7 * time.Second: true},
		map[time.Duration]bool{3 * time.Second: false, 30 * time.Second: true},
	) {
		t.Run(held.String(), func(t *testing.T) {
			t.Parallel()
			folder, l := t.TempDir(), newLedger()
			s := start(t, folder, "")
			var unavailable atomic.Int64
			c := newClients(l, s, 16)
			c.failed = func(status int, body string) {
				if unavailable.Add(1); status != http.StatusServiceUnavailable {
					t.Errorf("got %d %s, want 503", status, body)
				}
			}
			unlock := harness.LockStore(t, harness.StorePath(folder))
			time.AfterFunc(held, unlock)
			go func() {
				time.Sleep(held / 2)
				s.WantStatus(t, "/v1/pets", http.StatusOK)
			}()
			c.during(t, held+time.Second, 16, "locked")
			if refused := unavailable.Load() > 0; refused != wantRefused {
				t.Errorf("got %d requests with 503, want some: %t", unavailable.Load(), wantRefused)
			}
			if c.sales.Load() == 0 {
				t.Error("no animal was sold after the lock")
			}
			s.Stop(t)
			l.wantStore(t, folder)
			figures.add(t, "%v, %d of them with 503; lost 0, doubled 0", l, unavailable.Load())
		})
	}
}
