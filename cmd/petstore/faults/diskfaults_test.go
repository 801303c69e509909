//go:build faults

package faults

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
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
			var errors atomic.Int64
			for round := range pick(2, 10) {
				c := newClients(l, s, 32)
				c.failed = func(status int, body string) {
					if errors.Add(1); status != http.StatusServiceUnavailable {
						t.Errorf("got %d %s, want 503", status, body)
					}
				}
				injected := make(chan struct{})
				time.AfterFunc(200*time.Millisecond, func() { d.inject(t, f); close(injected) })
				c.during(t, 500*time.Millisecond, 32, fmt.Sprint("before ", round))
				<-injected
				s.wantStatus(t, "/v1/pets", http.StatusOK)
				d.inject(t, faultsOf{})
				after := newClients(l, s, 32)
				after.during(t, 300*time.Millisecond, 32, fmt.Sprint("after ", round))
				if after.sales.Load() == 0 {
					t.Errorf("no animal was sold after the fault: %s", s.log)
				}
			}
			s.wantStatus(t, "/readyz", http.StatusOK)
			if errors.Load() == 0 {
				t.Error("no request was refused with 503")
			}
			l.retryAndCompare(t, s, folder)
			figures.add(t, "%v, %d of them with 503; lost 0, doubled 0", l, errors.Load())
		})
	}
}

// TestSlowDiskDelaysWritesOnly makes each sync take a second. Commits are shared, so every
// client is served, and reads do not wait.
func TestSlowDiskDelaysWritesOnly(t *testing.T) {
	folder, l := t.TempDir(), newLedger()
	d := newDisk(t, folder, false)
	s := start(t, folder, "", d.environ...)
	d.inject(t, faultsOf{syncDelay: time.Second})
	c := newClients(l, s, 64)
	c.failed = func(status int, body string) { t.Errorf("got %d %s, want no error", status, body) }
	ctx, cancel := context.WithCancel(t.Context())
	reads := make(chan *latencies)
	go func() { reads <- s.read(ctx, 4) }()
	c.during(t, pick(3*time.Second, 30*time.Second), 64, "slow")
	cancel()
	l2 := <-reads
	d.inject(t, faultsOf{})
	s.stop(t)
	l.wantStore(t, folder)
	if l2.p99() > 500*time.Millisecond {
		t.Errorf("the 99th percentile of a read is %v, want at most 500ms", l2.p99())
	}
	figures.add(t, "%v; the 99th percentile of a read is %v meanwhile", l, l2.p99())
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
			var errors atomic.Int64
			c := newClients(l, s, 16)
			c.failed = func(status int, body string) {
				if errors.Add(1); status != http.StatusServiceUnavailable {
					t.Errorf("got %d %s, want 503", status, body)
				}
			}
			unlock := lockStore(t, folder)
			time.AfterFunc(held, unlock)
			go func() {
				time.Sleep(held / 2)
				s.wantStatus(t, "/v1/pets", http.StatusOK)
			}()
			c.during(t, held+time.Second, 16, "locked")
			if refused := errors.Load() > 0; refused != wantRefused {
				t.Errorf("got %d requests with 503, want some: %t", errors.Load(), wantRefused)
			}
			if c.sales.Load() == 0 {
				t.Error("no animal was sold after the lock")
			}
			s.stop(t)
			l.wantStore(t, folder)
			figures.add(t, "%v, %d of them with 503; lost 0, doubled 0", l, errors.Load())
		})
	}
}

// lockStore begins a transaction that writes, as another process would, and returns a function
// that ends it.
func lockStore(t *testing.T, folder string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+storePath(folder)+"?_txlock=immediate&_busy_timeout=5000")
	check(t, err)
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	check(t, err)
	return func() { _ = tx.Rollback(); _ = db.Close() }
}
