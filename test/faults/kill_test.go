package faults

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

// interrupt lets clients sell on one server after the other, on one store, each of which end ends. Then the store must agree
// with the ledger. It returns how long each server took to be ready.
func interrupt(t *testing.T, folder string, l *ledger.Ledger, rounds, clients int, environ []string, end func(round int, s *server)) (ready []time.Duration) {
	t.Helper()
	key := ""
	for round := range rounds {
		s := start(t, folder, key, environ...)
		key, ready = s.Key, append(ready, s.ready)
		c := s.clients(l)
		c.Retry(t.Context())
		stop := c.Start(t.Context(), clients)
		end(round, s)
		<-s.Ended
		stop()
	}
	start(t, folder, key).stop(t, l)
	return ready
}

// TestKillLosesNoAcknowledgedWrite kills the server with SIGKILL at random moments while 64
// clients write.
func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	l, random := ledger.New(), harness.Rand(t)
	ready := interrupt(t, t.TempDir(), l, pick(5, 50), 64, nil, func(_ int, s *server) {
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		s.Kill()
	})
	if slowest, limit := slices.Max(ready[1:]), pick(10*time.Second, 2*time.Second); slowest > limit {
		t.Errorf("a server was ready after %v, want at most %v", slowest, limit)
	}
	slices.Sort(ready)
	t.Logf("%d kills; %v; lost 0, doubled 0; ready after %v, at most %v", len(ready), l, ready[len(ready)/2].Round(time.Millisecond), ready[len(ready)-1].Round(time.Millisecond))
}

// TestRefusedWriteIsNotThereAfterKill kills the server while the disk fails: a commit that was
// refused because its sync failed has been written to the WAL.
func TestRefusedWriteIsNotThereAfterKill(t *testing.T) {
	folder, l := t.TempDir(), ledger.New()
	d := newDisk(t, folder, false)
	interrupt(t, folder, l, pick(3, 20), 16, d.environ, func(_ int, s *server) {
		time.Sleep(200 * time.Millisecond)
		before := l.Unavailable()
		d.inject(t, faultsOf{syncError: syscall.EIO})
		harness.Eventually(t, "a request is refused with 503", func() bool { return l.Unavailable() > before })
		time.Sleep(50 * time.Millisecond)
		s.Kill()
		d.inject(t, faultsOf{})
	})
	t.Logf("%v; lost 0, doubled 0", l)
}

// TestRefusedWriteIsNotThereAfterKillInANewWAL refuses the first write to a WAL that begins anew,
// whose header was synced.
func TestRefusedWriteIsNotThereAfterKillInANewWAL(t *testing.T) {
	folder := t.TempDir()
	d := newDisk(t, folder, false)
	s := start(t, folder, "", d.environ...)
	add := func(name string, want int) {
		if status, body, err := s.Post(t.Context(), harness.PetBody(name)); err != nil || status != want {
			t.Fatalf("got %d %s %v, want %d", status, body, err, want)
		}
	}
	add("Rex", 201)
	db := harness.OpenSQLite(t, "file:"+harness.StorePath(folder)+"?mode=rw")
	_, err := db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	harness.Check(t, errors.Join(err, db.Close()))
	d.inject(t, faultsOf{syncError: syscall.EIO, goodSyncs: 1})
	add("Tom", 503)
	s.Kill()
	harness.Check(t, checkIntegrity(t.Context(), harness.StorePath(folder)))
	if n := harness.QueryInt(t, folder, "SELECT count(*) FROM pets"); n != 1 {
		t.Errorf("got %d animals, want only Rex", n)
	}
}

// TestRefusedWriteIsNeverThereWhileTheNextFails checks the store after each write to the disk, as
// if the server was killed then: the next commit may begin with the same frame of the WAL as the
// refused one, whose other frames follow.
func TestRefusedWriteIsNeverThereWhileTheNextFails(t *testing.T) {
	folder := t.TempDir()
	first := start(t, folder, "")
	first.Stop(t) // the database is whole on disk, without a WAL
	base, err := os.ReadFile(harness.StorePath(folder))
	harness.Check(t, err)
	d := newDisk(t, folder, true)
	s := start(t, folder, first.Key, d.environ...)
	var refused [4]int // the operations of the disk until the response
	for i, want := range []int{201, 503, 503, 503} {
		if status, body, err := s.Post(t.Context(), harness.PetBody(fmt.Sprint("Rex", i))); err != nil || status != want {
			t.Fatalf("got %d %s %v, want %d", status, body, err, want)
		}
		switch want {
		case 201:
			d.inject(t, faultsOf{syncError: syscall.EIO})
		case 503:
			refused[i] = len(d.operations(t))
		}
	}
	s.Kill()
	copied, images := t.TempDir(), newImages(base, harness.Rand(t))
	images.killed = true
	for i, o := range d.operations(t) {
		if images.apply(o); i+1 < refused[1] {
			continue
		}
		harness.Check(t, images.write(harness.StorePath(copied), func(int) bool { return true }))
		for animal, at := range refused {
			if n := harness.QueryInt(t, copied, fmt.Sprintf("SELECT count(*) FROM pets WHERE name = 'Rex%d'", animal)); animal > 0 && at <= i+1 && n != 0 {
				t.Errorf("after %d operations of the disk: the animal %d is there, which was refused after %d", i+1, animal, at)
			}
		}
	}
}

// TestSignalsInEachPhase sends one or two signals while the server starts, creates and migrates
// its store, serves, and drains. The store is whole, and nothing that was acknowledged is lost.
func TestSignalsInEachPhase(t *testing.T) {
	signals := slices.DeleteFunc([]os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGKILL}, signal.Ignored) // as under nohup

	t.Run("start and migration", func(t *testing.T) {
		t.Parallel()
		rounds, random := pick(10, 60), harness.Rand(t)
		for range rounds {
			folder := t.TempDir()
			cmd := harness.Command(t.Context(), folder, "serve")
			harness.Check(t, cmd.Start())
			time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
			for range 1 + random.IntN(2) {
				_ = cmd.Process.Signal(signals[random.IntN(len(signals))])
			}
			_ = cmd.Wait()
			start(t, folder, "").Stop(t) // with the remains
			harness.Check(t, checkIntegrity(t.Context(), harness.StorePath(folder)))
		}
		t.Logf("%d starts interrupted; each store could be opened", rounds)
	})

	t.Run("load and drain", func(t *testing.T) {
		t.Parallel()
		l, rounds, random := ledger.New(), pick(4, 20), harness.Rand(t)
		interrupt(t, t.TempDir(), l, rounds, 32, []string{"PETSTORE_SERVER_SHUTDOWN_DELAY=200ms"}, func(round int, s *server) {
			time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
			s.Signal(t, unix.SIGTERM)
			if round%2 == 0 { // again, while it drains or after it
				time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
				_ = s.Process.Signal(signals[random.IntN(len(signals))])
			}
		})
		t.Logf("%d shutdowns, half of them with a second signal; %v; lost 0, doubled 0", rounds, l)
	})
}
