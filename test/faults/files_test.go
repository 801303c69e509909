package faults

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/linearizability"
)

// What the next start does with a store.
const (
	refused = "refused" // it refuses the store with a remedy
	whole   = "whole"   // it opens the store, which has all acknowledged writes
	either  = "either"  // one of both, or it opens a damaged store, which is not promised to be noticed
)

// damages are shell commands that damage a store, in its folder.
var damages = map[string]struct {
	command string
	noticed bool // whether a server that has the store open notices it
	// What the next start does if the server had the store open and was then stopped or killed, and if it was
	// killed before.
	stopped, killed, before string
}{
	"file replaced":     {"cp backup new; mv new petstore.db", true, refused, refused, refused},
	"file removed":      {"rm petstore.db", true, refused, refused, refused},
	"WAL removed":       {"rm petstore.db-wal", true, whole, refused, refused},
	"WAL replaced":      {"cp petstore.db-wal new; mv new petstore.db-wal", true, whole, whole, whole},
	"cp of a backup":    {"cp backup petstore.db", false, refused, refused, refused},
	"noise":             {"size=$(stat --format=%s petstore.db); head --bytes=$size /dev/urandom > petstore.db", false, refused, refused, refused},
	"truncated":         {"truncate --size=0 petstore.db", false, refused, refused, refused},
	"truncated, no WAL": {"truncate --size=0 petstore.db; rm petstore.db-wal", true, refused, refused, refused},
	"truncated to half": {"truncate --size=$(($(stat --format=%s petstore.db) / 2)) petstore.db", false, either, either, either},
}

// remedies matches the errors for a damaged store.
var remedies = regexp.MustCompile(`^.*(to use a backup, run petstore restore with it|put the file back, run petstore restore with a backup, ` +
	`or move|run petstore restore with a backup|restore a backup that is intact|name another file, or move this one away).*\n$`)

// TestDamagedFileIsNoticed damages a store while a server has it open, or after the server was killed. In the
// end, restore always replaces the store with the backup.
func TestDamagedFileIsNoticed(t *testing.T) {
	var notOpened atomic.Int64
	t.Cleanup(func() { // cleanups run after the subtests, which are parallel
		t.Logf("%d stores, damaged while open and while closed, and restored: %d not opened", 3*len(damages), notOpened.Load())
	})
	for name, d := range damages {
		for end, want := range map[string]string{"open, stopped": d.stopped, "open, killed": d.killed, "killed before": d.before} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				folder, l := t.TempDir(), newLoad(t)
				s := start(t, folder, "")
				s.wantWrites(t, l, 8)
				harness.MustRun(t, folder, "backup", "backup")
				backedUp := linearizability.Monotonic()
				s.wantWrites(t, l, 8)
				// An insert writes a page with the generation of the file to the WAL. Without an insert, the WAL could
				// belong to any copy of the file, and a store without a change since the last checkpoint may be opened.
				for tries := 1; s.addPetWritesCheckpoint(t, folder); tries++ {
					if tries == 10 {
						t.Fatal("each insert is followed by a checkpoint")
					}
				}
				if end == "killed before" {
					s.Kill()
				}
				harness.Shell(t, folder, d.command)
				switch end {
				case "open, stopped":
					s.wantNoWrongData(t, d.noticed)
					s.Signal(t, unix.SIGTERM)
					<-s.Ended
				case "open, killed":
					s.wantNoWrongData(t, d.noticed)
					s.Kill()
				}
				_, stderr, code := harness.Run(t, folder, "keys", "list")
				switch {
				case code != 0:
					notOpened.Add(1)
					if want == whole || !remedies.MatchString(stderr) {
						t.Errorf("got %s, want one line with a remedy, or %s", stderr, want)
					}
				case want == refused:
					t.Error("the store was opened")
				case want == whole:
					wantStore(t, folder, l, linearizability.AtTheEnd)
				}
				harness.MustRun(t, folder, "restore", "backup")
				start(t, folder, s.Key).Stop(t)
				wantStore(t, folder, l, backedUp)
			})
		}
	}
}

// addPetWritesCheckpoint adds an animal, and reports whether its commit was followed by a checkpoint, which alone writes to
// the file.
func (s *server) addPetWritesCheckpoint(t *testing.T, folder string) bool {
	t.Helper()
	path := filepath.Join(folder, "petstore.db")
	before, err := os.Stat(path)
	testkit.Check(t, err)
	s.AddPet(t, "last")
	after, err := os.Stat(path)
	testkit.Check(t, err)
	return !after.ModTime().Equal(before.ModTime())
}

// wantNoWrongData sends requests for a while. If the damage is noticed, no write is acknowledged, and the server
// is not ready. Then it lists the animals: a list has only animals that clients have sent, or is refused.
func (s *server) wantNoWrongData(t *testing.T, noticed bool) {
	t.Helper()
	l := newLoad(t)
	l.to(s).During(t.Context(), 500*time.Millisecond, 4)
	if noticed {
		s.WantStatus(t, "/readyz", http.StatusServiceUnavailable)
		if len(l.History.Since(time.Time{}).Acknowledged(false)) > 0 {
			t.Errorf("got %v after the damage, want no write acknowledged", l.History)
		}
	}
	for after := 0; after < 200; after += 20 {
		status, body, err := s.Do(t.Context(), http.MethodGet, fmt.Sprint("/v1/pets?after=", after), "")
		testkit.Check(t, err)
		switch status {
		case http.StatusOK:
			for _, pet := range petsOf(t, body) {
				if !strings.HasPrefix(pet.Name, "animal-") && pet.Name != "last" {
					t.Errorf("got the animal %q, which nobody has added", pet.Name)
				}
			}
		case http.StatusServiceUnavailable, http.StatusInternalServerError:
		default:
			t.Errorf("got %d %s, want 200, 503, or 500 for a row that is cut off", status, body)
		}
	}
}
