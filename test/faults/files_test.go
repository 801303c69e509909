package faults

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

// damages are what may happen to the file of a store.
var damages = map[string]func(t *testing.T, path, backup string){
	"replaced": func(t *testing.T, path, backup string) {
		text, err := os.ReadFile(backup)
		harness.Check(t, err)
		harness.Check(t, os.WriteFile(path+".new", text, 0o600))
		harness.Check(t, os.Rename(path+".new", path))
	},
	"truncated to half": func(t *testing.T, path, _ string) {
		info, err := os.Stat(path)
		harness.Check(t, err)
		harness.Check(t, os.Truncate(path, info.Size()/2))
	},
	"truncated to nothing": func(t *testing.T, path, _ string) { harness.Check(t, os.Truncate(path, 0)) },
	"truncated to nothing, read": func(t *testing.T, path, _ string) { // SQLite removes the WAL of an empty file
		harness.Check(t, os.Truncate(path, 0))
		harness.Check(t, os.Remove(path+"-wal"))
	},
	"deleted": func(t *testing.T, path, _ string) { harness.Check(t, os.Remove(path)) },
	"overwritten with noise": func(t *testing.T, path, _ string) {
		info, err := os.Stat(path)
		harness.Check(t, err)
		noise := make([]byte, info.Size())
		_, _ = rand.Read(noise)
		harness.Check(t, os.WriteFile(path, noise, 0o600))
	},
}

// remedies are those of the errors for a damaged file.
var remedies = []string{
	"to use a backup, run petstore restore with it",
	"put the file back, run petstore restore with a backup, or move",
	"restore a backup that is intact",
	"name another file, or move this one away",
}

// TestDamagedFileIsNoticed damages the file of a store while a server has it open, and after one
// was killed. No response has wrong data, a damaged file is not opened unless a part of it is
// left, and restore puts the backup in its place.
func TestDamagedFileIsNoticed(t *testing.T) {
	var refused, restored atomic.Int64
	t.Cleanup(func() { // after the subtests, which are parallel
		t.Logf("%d stores, damaged while open and while closed: %d not opened, %d restored", 2*len(damages), refused.Load(), restored.Load())
	})
	for name, damage := range damages {
		for _, open := range []bool{true, false} {
			t.Run(fmt.Sprint(name, map[bool]string{true: " while open", false: " while closed"}[open]), func(t *testing.T) {
				t.Parallel()
				folder, l, later := t.TempDir(), ledger.New(), ledger.New()
				s := start(t, folder, "")
				s.wantSales(t, l, 8)
				harness.Run(t, folder, "backup", "backup")
				s.wantSales(t, later, 8)
				path, backup := harness.StorePath(folder), filepath.Join(folder, "backup")
				if open {
					damage(t, path, backup)
					s.wantNoWrongData(t)
				}
				s.Kill()
				if !open {
					damage(t, path, backup)
				}
				if wantRefusedOrWhole(t, folder, name == "truncated to half", l, later) {
					refused.Add(1)
				}
				harness.MustRun(t, folder, "restore", "backup")
				start(t, folder, s.Key).Stop(t)
				wantStore(t, folder, l)
				restored.Add(1)
			})
		}
	}
}

// wantNoWrongData adds animals for a second, all of which must be refused, and lists them: a list
// has animals that clients have sent, or is refused.
func (s *server) wantNoWrongData(t *testing.T) {
	t.Helper()
	l := ledger.New()
	s.clients(l).During(t.Context(), time.Second, 4)
	for after := 0; after < 200; after += 20 {
		status, pets, err := s.Do(t.Context(), http.MethodGet, fmt.Sprint("/v1/pets?after=", after), "")
		harness.Check(t, err)
		switch status {
		case http.StatusOK:
			for _, item := range strings.Split(pets, "},{") {
				if item != "[]" && !strings.Contains(item, `"name":"animal-`) {
					t.Errorf("got the animal %s, which nobody has added", item)
				}
			}
		case http.StatusServiceUnavailable, http.StatusInternalServerError: // a row that is cut off in its page is an internal error
		default:
			t.Errorf("got %d %s, want 200 or 503", status, pets)
		}
	}
	if l.Counts().Acknowledged > 0 {
		t.Errorf("got %v after the damage, want none acknowledged", l)
	}
}

// wantRefusedOrWhole runs a command on a damaged store: it refuses that with a remedy, or the
// store has all that was acknowledged. A store of which a part is left may be opened, because a
// crash within a checkpoint leaves such a file, too. It returns whether the store was refused.
func wantRefusedOrWhole(t *testing.T, folder string, partLeft bool, ledgers ...*ledger.Ledger) (refused bool) {
	t.Helper()
	if _, stderr, code := harness.Run(t, folder, "keys", "list"); code != 0 {
		t.Logf("refused: %s", stderr)
		has := func(remedy string) bool { return strings.Contains(stderr, remedy) }
		if !slices.ContainsFunc(remedies, has) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("got %s, want one line with one of the remedies %q", stderr, remedies)
		}
		return true
	}
	for _, l := range ledgers {
		differences, err := compare(t.Context(), harness.StorePath(folder), l, ledger.AtTheEnd)
		if err == nil && len(differences.Lost) > 0 || err != nil && !partLeft {
			t.Errorf("the store was opened: %v, lost %q", err, differences.Lost)
		}
	}
	return false
}
