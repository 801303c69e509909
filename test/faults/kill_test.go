package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// TestKillLosesNoAcknowledgedWrite kills the server with SIGKILL at random moments while 64
// clients write.
func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	folder, l, key := t.TempDir(), newLedger(), ""
	kills, random := pick(5, 50), harness.Rand(t)
	var ready []time.Duration
	for kill := range kills {
		s := start(t, folder, key)
		key = s.Key
		ready = append(ready, s.ready)
		c := newClients(l, s, 64)
		c.retry(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(random.IntN(600))*time.Millisecond, func() { s.Kill(); cancel() })
		c.run(ctx, 64, fmt.Sprint(kill))
		<-s.Ended
	}
	l.retryAndCompare(t, start(t, folder, key), folder)
	if slowest, limit := slices.Max(ready[1:]), pick(10*time.Second, 2*time.Second); slowest > limit {
		t.Errorf("a server was ready after %v, want at most %v", slowest, limit)
	}
	slices.Sort(ready)
	figures.add(t, "%d kills; %v; lost 0, doubled 0; ready after %v, at most %v", kills, l, round(ready[len(ready)/2]), round(ready[len(ready)-1]))
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// TestRefusedWriteIsNotThereAfterKill kills the server while the disk fails: a commit that was
// refused because its sync failed has been written to the WAL.
func TestRefusedWriteIsNotThereAfterKill(t *testing.T) {
	folder, l, key := t.TempDir(), newLedger(), ""
	for kill := range pick(3, 20) {
		d := newDisk(t, folder, false)
		s := start(t, folder, key, d.environ...)
		key = s.Key
		c := newClients(l, s, 16)
		refused := make(chan struct{})
		var once sync.Once
		c.failed = func(int, string) { once.Do(func() { close(refused) }) }
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			time.Sleep(200 * time.Millisecond)
			if err := d.tryInject(faultsOf{syncError: syscall.EIO}); err != nil {
				t.Error(err)
			}
			select {
			case <-refused:
				time.Sleep(50 * time.Millisecond)
			case <-time.After(10 * time.Second):
				t.Error("no request was refused with 503 while syncs failed")
			}
			s.Kill()
		}()
		c.run(ctx, 16, fmt.Sprint(kill))
		<-ctx.Done()
	}
	l.retryAndCompare(t, start(t, folder, key), folder)
	figures.add(t, "%v; lost 0, doubled 0", l)
}

// TestRefusedWriteIsNotThereAfterKillInANewWAL refuses the first write to a WAL that begins anew,
// whose header was synced.
func TestRefusedWriteIsNotThereAfterKillInANewWAL(t *testing.T) {
	folder, l := t.TempDir(), newLedger()
	d := newDisk(t, folder, false)
	s := start(t, folder, "", d.environ...)
	add := func(name string) outcome {
		return newClients(l, s, 1).attempt(newSale(name, 1), added)
	}
	if o := add("Rex"); o != acknowledged {
		t.Fatalf("got the outcome %d", o)
	}
	db, err := sql.Open("sqlite3", "file:"+harness.StorePath(folder)+"?mode=rw")
	harness.Check(t, err)
	_, err = db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	harness.Check(t, errors.Join(err, db.Close()))
	d.inject(t, faultsOf{syncError: syscall.EIO, goodSyncs: 1})
	if o := add("Tom"); o != refused {
		t.Fatalf("got the outcome %d", o)
	}
	s.Kill()
	<-s.Ended
	pets, err := readStore(t.Context(), harness.StorePath(folder))
	harness.Check(t, err)
	if len(pets) != 1 {
		t.Errorf("got the animals %v, want only Rex", pets)
	}
}
