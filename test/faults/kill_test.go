package faults

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/linearizability"
)

var kills = flag.Int("kills", 0, "the least number of kills")

// interrupt lets clients sell on one server after the other, all on the same store. end ends each server.
// Afterwards interrupt compares the store with the history. It returns how long each server took to become
// ready.
func interrupt(
	t *testing.T, folder string, l *load, rounds, clients int, environ []string, end func(round int, s *server),
) (ready []time.Duration) {
	t.Helper()
	key := ""
	for round := range rounds {
		s := start(t, folder, key, environ...)
		key, ready = s.Key, append(ready, s.ready)
		stop := l.to(s).Start(t.Context(), clients)
		end(round, s)
		<-s.Ended
		stop()
	}
	start(t, folder, key).stop(t, l)
	return ready
}

// TestKillLosesNoAcknowledgedWrite kills the server with SIGKILL at random moments while 64 clients write.
func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	l, random := newLoad(t), harness.Rand(t)
	ready := interrupt(t, t.TempDir(), l, max(*kills, pick(5, 50)), 64, nil, func(_ int, s *server) {
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		s.Kill()
	})
	if slowest, limit := slices.Max(ready[1:]), pick(10*time.Second, 2*time.Second); slowest > limit {
		t.Errorf("a server was ready after %v, want at most %v", slowest, limit)
	}
	slices.Sort(ready)
	t.Logf("%d kills; %v; ready after %v, at most %v", len(ready), l.History,
		ready[len(ready)/2].Round(time.Millisecond), ready[len(ready)-1].Round(time.Millisecond))
}

// TestRefusedWriteIsNotThereAfterKill kills the server while the disk fails. A commit that was refused
// because its sync failed has been written to the WAL.
func TestRefusedWriteIsNotThereAfterKill(t *testing.T) {
	folder, l := t.TempDir(), newLoad(t)
	d := newDisk(t, folder)
	interrupt(t, folder, l, pick(3, 20), 16, d.environ, func(_ int, s *server) {
		time.Sleep(200 * time.Millisecond)
		before := l.History.Unavailable()
		d.inject(t, faultsOf{syncError: ioError})
		testkit.WaitUntil(t, "a request is refused with 503", func() bool { return l.History.Unavailable() > before })
		time.Sleep(50 * time.Millisecond)
		s.Kill()
		d.inject(t, faultsOf{})
	})
	t.Logf("%v", l.History)
}

// TestRefusedWriteIsNeverThereWhileTheNextFails checks the store after each write to the disk, as if the
// server had been killed then. In two cases a refused commit could be in the store:
//
//   - The next commit may write the same first frame of the WAL as the refused commit. If the server were killed
//     then, this frame and the other frames of the refused commit would be a complete commit.
//   - In a new WAL, SQLite syncs the header before it writes a commit. If only the first of these syncs succeeds,
//     the first commit is written and refused, and no later commit overwrites it.
func TestRefusedWriteIsNeverThereWhileTheNextFails(t *testing.T) {
	for _, newWAL := range []bool{false, true} {
		t.Run(fmt.Sprint("in a new WAL: ", newWAL), func(t *testing.T) {
			t.Parallel()
			s, d, database := startLogged(t)
			s.AddPet(t, "Rex")
			fault, before := faultsOf{syncError: ioError}, 0
			if newWAL {
				db := harness.OpenSQLite(t, "file:"+harness.StorePath(s.folder)+"?mode=rw")
				_, err := db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
				testkit.Check(t, errors.Join(err, db.Close()))
				database, before = []byte(harness.ReadFile(t, harness.StorePath(s.folder))), len(d.operations(t))
				fault.goodSyncs = 1
			}
			d.inject(t, fault)
			var refused [3]int // the number of operations of the disk until each response
			for i := range refused {
				if status, body, err := s.Post(t.Context(), harness.PetBody(fmt.Sprint("Tom", i))); err != nil ||
					status != http.StatusServiceUnavailable {
					t.Fatalf("got %d %s %v, want 503", status, body, err)
				}
				refused[i] = len(d.operations(t))
			}
			s.Kill()
			copied, images := t.TempDir(), newImages(database, harness.Rand(t))
			images.killed = true
			for n, o := range d.operations(t)[before:] {
				images.apply(o)
				testkit.Check(t, images.write(harness.StorePath(copied), func(int) bool { return true }))
				for i, at := range refused {
					query := fmt.Sprintf("SELECT count(*) FROM pets WHERE name = 'Tom%d'", i)
					if before+n+1 >= at && harness.QueryInt(t, copied, query) != 0 {
						t.Errorf("after %d operations of the disk: Tom%d is there, which was refused after %d", before+n+1, i, at)
					}
				}
			}
		})
	}
}

// TestSignalsInEachPhaseLoseNoAcknowledgedWrite sends one or two signals while the server starts, creates and
// migrates its store, serves, or drains. The store stays intact, and no acknowledged write is lost.
func TestSignalsInEachPhaseLoseNoAcknowledgedWrite(t *testing.T) {
	signals := slices.DeleteFunc([]os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGKILL}, signal.Ignored) // nohup ignores some

	t.Run("start and migration", func(t *testing.T) {
		t.Parallel()
		rounds, random := pick(10, 60), harness.Rand(t)
		for range rounds {
			folder := t.TempDir()
			cmd := harness.Command(t.Context(), folder, "serve")
			testkit.Check(t, cmd.Start())
			time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
			for range 1 + random.IntN(2) {
				_ = cmd.Process.Signal(signals[random.IntN(len(signals))])
			}
			_ = cmd.Wait()
			start(t, folder, "").Stop(t) // a new server starts with the files that are left
			_, err := compare(t.Context(), harness.StorePath(folder), newLoad(t), linearizability.AtTheEnd)
			testkit.Check(t, err)
		}
		t.Logf("%d starts interrupted; each store could be opened", rounds)
	})

	t.Run("load and drain", func(t *testing.T) {
		t.Parallel()
		l, rounds, random := newLoad(t), pick(4, 20), harness.Rand(t)
		interrupt(t, t.TempDir(), l, rounds, 32, []string{"PETSTORE_SERVER_SHUTDOWN_DELAY=200ms"}, func(round int, s *server) {
			time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
			s.Signal(t, unix.SIGTERM)
			if round%2 == 0 { // a second signal, while the server drains or after that
				time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
				_ = s.Process.Signal(signals[random.IntN(len(signals))])
			}
		})
		t.Logf("%d shutdowns, half of them with a second signal; %v", rounds, l.History)
	})
}
