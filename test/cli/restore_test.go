package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestRestorePutsTheBackupInPlaceAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir)
	add := func(name string) {
		s.AddPet(t, name)
	}
	add("Rex")
	harness.Run(t, dir, "backup", "monday.db")
	add("Tom")

	before := modes(t, dir)
	_, stderr, code := harness.Run(t, dir, "restore", "monday.db")
	want := "petstore: petstore.db: a process has it open: stop the service and all petstore commands, then try again\n"
	if code != 1 || !strings.HasSuffix(stderr, want) {
		t.Errorf("got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
	wantModes(t, dir, before)

	_ = s.Process.Kill() // leaves a WAL
	_ = s.Wait()
	stdout, stderr, code := harness.Run(t, dir, "restore", "monday.db")
	kept := regexp.MustCompile(`^restored /\S+/petstore\.db from monday\.db: 1 animals, .*\nkept (petstore\.db\.replaced-\S+)\nto go back, run petstore restore \S+ --set database.dsn=petstore\.db\n$`).FindStringSubmatch(stdout)
	if code != 0 || kept == nil {
		t.Fatalf("got code %d, stdout %q, stderr %q; want 0 and what was kept", code, stdout, stderr)
	}
	wantAnimals(t, dir, 1)
	harness.MustRun(t, dir, "restore", kept[1])
	wantAnimals(t, dir, 2)
}

// wantAnimals expects a number of animals in the store, and that it is intact.
func wantAnimals(t *testing.T, dir string, want int) {
	t.Helper()
	harness.RunOK(t, dir, "keys", "list") // which opens the store with its WAL
	if got := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); got != want {
		t.Errorf("got %d animals, want %d", got, want)
	}
	if got := harness.QueryInt(t, dir, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"); got != 1 {
		t.Error("the store is damaged")
	}
}

// TestKilledRestoreLeavesOneWholeStore kills restore at different times.
func TestKilledRestoreLeavesOneWholeStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.Run(t, dir, "seed", "--count", "20000", "--orders", "0")
	harness.Run(t, dir, "backup", "monday.db")
	harness.Run(t, dir, "seed", "--count", "1", "--orders", "0")
	start := time.Now()
	harness.Run(t, dir, "restore", "monday.db")
	took := time.Since(start)
	const kills = 25
	restored := 0
	for i := range kills {
		before := harness.QueryInt(t, dir, "SELECT count(*) FROM pets")
		cmd := harness.Command(t.Context(), dir, "restore", "monday.db")
		harness.Check(t, cmd.Start())
		timer := time.AfterFunc(took*time.Duration(i)*6/5/kills, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // killed or finished
		timer.Stop()
		after := harness.QueryInt(t, dir, "SELECT count(*) FROM pets")
		if after != before && after != 20_000 {
			t.Fatalf("got %d animals, want %d or 20000", after, before)
		}
		if after == 20_000 {
			restored++
		}
		wantAnimals(t, dir, after)
		harness.Run(t, dir, "seed", "--count", "1", "--orders", "0")
	}
	if restored == 0 || restored == kills {
		t.Errorf("%d of %d kills were after the backup was in place, want some before and some after", restored, kills)
	}
}

func TestRestoreRejectsWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"missing.db":  "there is no backup missing.db: correct the path",
		"petstore.db": "petstore.db is the store itself: name a backup",
		"link.db":     "link.db is the store itself: name a backup",
		"noise.db":    "it is not a SQLite database",
		"cut.db":      "the database is damaged",
		"changed.db":  "copy changed.db: the schema is not that of version 4, the index orders_live is missing: undo the change, or restore a backup without it",
		".":           "it is not a regular file",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewStore(t)
			harness.Run(t, dir, "backup", "cut.db")
			harness.Run(t, dir, "backup", "changed.db")
			changed := harness.OpenSQLite(t, filepath.Join(dir, "changed.db"))
			_, changeErr := changed.ExecContext(t.Context(), "DROP INDEX orders_live")
			for _, err := range []error{
				changeErr, changed.Close(),
				os.Truncate(filepath.Join(dir, "cut.db"), 30_000),
				os.Symlink("petstore.db", filepath.Join(dir, "link.db")),
				os.WriteFile(filepath.Join(dir, "noise.db"), []byte(strings.Repeat("noise", 1000)), 0o600),
			} {
				harness.Check(t, err)
			}
			before := modes(t, dir)
			stdout, stderr, code := harness.Run(t, dir, "restore", name)
			if code != 1 || stdout != "" || !strings.Contains(stderr, want) {
				t.Errorf("got code %d, stdout %q, stderr %q; want 1 and %q", code, stdout, stderr, want)
			}
			wantModes(t, dir, before)
		})
	}
}

func TestRestoreReplacesTheFileBehindALink(t *testing.T) {
	t.Parallel()
	dir, folder := harness.NewStore(t), t.TempDir()
	harness.Run(t, dir, "backup", "monday.db")
	harness.Run(t, dir, "seed", "--count", "5")
	harness.Check(t, os.Rename(harness.StorePath(dir), filepath.Join(folder, "pets.db")))
	harness.Check(t, os.Symlink(filepath.Join(folder, "pets.db"), harness.StorePath(dir)))
	harness.MustRun(t, dir, "restore", "monday.db")
	if target, err := os.Readlink(harness.StorePath(dir)); err != nil || target != filepath.Join(folder, "pets.db") {
		t.Errorf("got the link %q, %v, want it unchanged", target, err)
	}
	wantAnimals(t, dir, 0)
}

func TestRestoreRejectsLinkToMissingFile(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.Run(t, dir, "backup", "monday.db")
	for name, test := range map[string]struct{ target, want string }{
		"none.db": {"missing/pets.db", "petstore: restore the store none.db: it is a symbolic link to a file that does not exist: correct the link\n"},
		"loop.db": {"loop.db", "petstore: restore the store loop.db: EvalSymlinks: too many links: correct the link\n"},
	} {
		harness.Check(t, os.Symlink(test.target, filepath.Join(dir, name)))
		before := modes(t, dir)
		stdout, stderr, code := harness.Run(t, dir, "restore", "monday.db", "--set", "database.dsn="+name)
		if code != 1 || stdout != "" || stderr != test.want {
			t.Errorf("%s: got code %d, stdout %q, stderr %q; want 1 and %q", name, code, stdout, stderr, test.want)
		}
		if target, err := os.Readlink(filepath.Join(dir, name)); err != nil || target != test.target {
			t.Errorf("got the link %q, %v, want it unchanged", target, err)
		}
		wantModes(t, dir, before)
	}
}

// TestRestoreNamesTheKeysThatItMakesUsable revokes keys while the service runs, which is then
// killed: the revocations are in the WAL.
func TestRestoreNamesTheKeysThatItMakesUsable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir) // creates the key 1
	kept, revoked := harness.PrintedKey(t, dir, "create", "--name", "kept"), harness.PrintedKey(t, dir, "create", "--name", "till 1")
	harness.PrintedKey(t, dir, "create", "--name", "revoked before")
	harness.PrintedKey(t, dir, "create", "--name", "till 2")
	harness.RunOK(t, dir, "keys", "revoke", "4")
	harness.Run(t, dir, "backup", "monday.db")
	harness.RunOK(t, dir, "keys", "revoke", "3")
	harness.PrintedKey(t, dir, "rotate", "5", "--overlap", "0s")
	s.Signal(t, syscall.SIGKILL)
	_ = s.Wait()

	restore := func(name, want string, args ...string) {
		t.Helper()
		_, err := os.Stat(harness.StorePath(dir))
		stdout, stderr, code := harness.Run(t, dir, append([]string{"restore", "monday.db"}, args...)...)
		lines := strings.SplitAfterN(stderr, "KiB\n", 2)
		if code != 0 || lines[len(lines)-1] != want || strings.Contains(stdout, "kept") != (err == nil) {
			t.Fatalf("%s: got code %d, stdout %q, stderr %q, want 0 and %q", name, code, stdout, stderr, want)
		}
	}
	const remedy = ": revoke them with petstore keys revoke, or restore again with --revoke-keys\n"
	restore("after revocations", "petstore: these API keys are usable that were not before: till 1 (id 3), till 2 (id 5)"+remedy)
	restore("same keys", "")
	all := func(reason string) string {
		return "petstore: the API keys could not be compared with those of the previous store (" + reason +
			"); these are usable, also if they were revoked after the backup: first (id 1), kept (id 2), till 1 (id 3), till 2 (id 5)" + remedy
	}
	harness.WriteFile(t, dir, "petstore.db", strings.Repeat("noise", 1000))
	restore("damaged", all("file is not a database"))
	harness.Check(t, os.Remove(harness.StorePath(dir)))
	restore("missing", all("there was none"))
	s = harness.Start(t, dir)
	s.WantKeyStatus(t, http.StatusOK, kept, revoked)
	s.Stop(t)

	restore("all revoked", "", "--revoke-keys")
	if n := harness.QueryInt(t, dir, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"); n != 0 {
		t.Errorf("got %d keys that are not revoked, want none", n)
	}
	another := harness.PrintedKey(t, dir, "create", "--name", "another")
	s = harness.Start(t, dir)
	s.WantKeyStatus(t, http.StatusUnauthorized, kept, revoked)
	s.WantKeyStatus(t, http.StatusOK, another)
}
