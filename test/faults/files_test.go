package faults

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/linearizability"
)

// damages are shell commands that damage the file of a store, in its folder.
var damages = map[string]string{
	"replaced":                   "cp backup new; mv new petstore.db",
	"truncated to half":          "truncate --size=$(($(stat --format=%s petstore.db) / 2)) petstore.db",
	"truncated to nothing":       "truncate --size=0 petstore.db",
	"truncated to nothing, read": "truncate --size=0 petstore.db; rm petstore.db-wal", // SQLite removes the WAL of an empty file
	"deleted":                    "rm petstore.db",
	"overwritten with noise":     "size=$(stat --format=%s petstore.db); head --bytes=$size /dev/urandom > petstore.db",
}

// remedies matches the errors for a damaged file.
var remedies = regexp.MustCompile(`^.*(to use a backup, run petstore restore with it|put the file back, run petstore restore with a backup, ` +
	`or move|restore a backup that is intact|name another file, or move this one away).*\n$`)

// TestDamagedFileIsNoticed damages the file of a store while a server has it open, or after the server was
// killed. No response has wrong data. The damaged file is refused with a remedy, or it has all acknowledged
// writes. There is one exception: if a part of the file is left, it may be opened, because a crash within a
// checkpoint leaves such a file, too. In the end, restore always replaces the store with the backup.
func TestDamagedFileIsNoticed(t *testing.T) {
	var refused atomic.Int64
	t.Cleanup(func() { // cleanups run after the subtests, which are parallel
		t.Logf("%d stores, damaged while open and while closed, and restored: %d not opened", 2*len(damages), refused.Load())
	})
	for name, damage := range damages {
		for _, open := range []bool{true, false} {
			t.Run(fmt.Sprint(name, map[bool]string{true: " while open", false: " while closed"}[open]), func(t *testing.T) {
				t.Parallel()
				folder, l := t.TempDir(), newLoad(t)
				s := start(t, folder, "")
				s.wantWrites(t, l, 8)
				harness.MustRun(t, folder, "backup", "backup")
				backedUp := linearizability.Monotonic()
				s.wantWrites(t, l, 8)
				// An insert writes a page with the generation of the file to the WAL. Without an insert, the WAL could
				// belong to any copy of the file.
				s.AddPet(t, "last")
				if open {
					harness.Shell(t, folder, damage)
					s.wantNoWrongData(t)
				}
				s.Kill()
				if !open {
					harness.Shell(t, folder, damage)
				}
				if _, stderr, code := harness.Run(t, folder, "keys", "list"); code != 0 {
					refused.Add(1)
					if !remedies.MatchString(stderr) {
						t.Errorf("got %s, want one line with a remedy", stderr)
					}
				} else {
					problems, err := compare(t.Context(), harness.StorePath(folder), l, linearizability.AtTheEnd)
					if len(problems) > 0 || err != nil && name != "truncated to half" {
						t.Errorf("the store was opened: %v, %q", err, problems)
					}
				}
				harness.MustRun(t, folder, "restore", "backup")
				start(t, folder, s.Key).Stop(t)
				wantStore(t, folder, l, backedUp)
			})
		}
	}
}

// wantNoWrongData sends requests for a second and expects that no write is acknowledged. Then it lists
// the animals: a list has only animals that clients have sent, or is refused.
func (s *server) wantNoWrongData(t *testing.T) {
	t.Helper()
	l := newLoad(t)
	l.to(s).During(t.Context(), time.Second, 4)
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
	if len(l.History.Since(time.Time{}).Acknowledged(false)) > 0 {
		t.Errorf("got %v after the damage, want no write acknowledged", l.History)
	}
}
