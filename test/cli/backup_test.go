package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"
)

func TestBackupHasEveryAcknowledgedAnimal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir)
	s.AddPet(t, "Rex")
	for i := range 20 {
		s.AddPet(t, "Rex")
		name := fmt.Sprintf("%d.db", i)
		stdout, stderr, code := harness.RunCommand(t, harness.CommandAfter(t.Context(), dir, "umask 000", "backup", name))
		want := fmt.Sprintf("wrote %s: %d animals, 0 orders, 1 API key, schema version ", name, i+2)
		if code != 0 || !strings.HasPrefix(stdout, want) || !strings.HasSuffix(stderr, " KiB\n") {
			t.Fatalf("got code %d, stdout %q, stderr %q; want 0, %q and the progress", code, stdout, stderr, want)
		}
		if mode := modes(t, dir)[name]; mode != 0o600 {
			t.Errorf("got the mode %v, want 0600", mode)
		}
	}
}

func TestInterruptedBackupWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.Run(t, dir, "seed", "--count", "200000", "--orders", "0")
	before := modes(t, dir)
	lastLine, code := signalCommand(t, harness.Command(t.Context(), dir, "backup", "monday.db"), syscall.SIGINT)
	if code != 1 || lastLine != "petstore: interrupted: nothing was written\n" {
		t.Errorf("got code %d and the last line %q; want 1 and that it was interrupted", code, lastLine)
	}
	wantModes(t, dir, before)
}

func TestConcurrentBackupsRemoveNotAll(t *testing.T) {
	t.Parallel()
	dir, folder := harness.NewStore(t), t.TempDir()
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			if out, err := harness.Command(t.Context(), dir, "backup", "--keep", "1", folder).CombinedOutput(); err != nil &&
				!strings.Contains(string(out), "exists already") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wait.Wait()
	if names, err := filepath.Glob(filepath.Join(folder, "petstore-*.db")); err != nil || len(names) == 0 {
		t.Errorf("got the backups %v, %v, want at least the latest", names, err)
	}
}

// TestRestorePutsTheBackupInPlaceAndBack restores a store whose service was killed. The kill leaves a WAL,
// with a revocation in it. After the restore, the position of a client is no longer valid: the client may have read
// changes that the restored store does not have.
func TestRestorePutsTheBackupInPlaceAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir)
	s.AddPet(t, "Rex")
	second := harness.PrintedKey(t, dir, "create", "--name", "till-2")
	harness.MustRun(t, dir, "backup", "monday.db")
	s.AddPet(t, "Tom")
	before := modes(t, dir)
	harness.WantError(t, dir, "restore monday.db", "petstore.db: a process has it open: stop the service and all petstore commands, then try again")
	wantModes(t, dir, before)
	read := harness.QueryInt(t, dir, "SELECT max(seq) FROM changes")
	s.WantStatus(t, fmt.Sprint("/v1/changes?after=", read), http.StatusOK)
	harness.RunOK(t, dir, "keys", "revoke", "1")
	s.Kill()

	stdout := harness.MustRun(t, dir, "restore", "monday.db")
	wantAnimals(t, dir, 1)
	restored := harness.Start(t, dir)
	restored.Key = s.Key
	restored.WantStatus(t, "/v1/pets", http.StatusUnauthorized)
	restored.Key = second
	restored.AddPet(t, "Bob")
	restored.WantStatus(t, fmt.Sprint("/v1/changes?after=", read), http.StatusGone)
	restored.Stop(t)

	kept := regexp.MustCompile(`\nkept (petstore\.db\.replaced-\S+)\n`).FindStringSubmatch(stdout)
	if kept == nil {
		t.Fatalf("got %q, want what was kept", stdout)
	}
	harness.MustRun(t, dir, "restore", kept[1])
	wantAnimals(t, dir, 2)
}

func TestRestoreReadsABackupOnAReadOnlyDisk(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "7")
	const readOnly = `mkdir disk && "$0" backup disk/monday.db && mount --bind disk disk && mount -o remount,bind,ro disk`
	cmd := harness.AllowMounts(t, harness.CommandAfter(t.Context(), dir, readOnly, "restore", "disk/monday.db"))
	if _, stderr, code := harness.RunCommand(t, cmd); code != 0 {
		t.Errorf("got code %d, stderr %q, want 0", code, stderr)
	}
	wantAnimals(t, dir, 7)
}

// wantAnimals expects a number of animals in the store, and that it is intact.
func wantAnimals(t *testing.T, dir string, want int) {
	t.Helper()
	harness.RunOK(t, dir, "keys", "list") // opens the store with its WAL
	if got := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); got != want {
		t.Errorf("got %d animals, want %d", got, want)
	}
	if got := harness.QueryInt(t, dir, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"); got != 1 {
		t.Error("the store is damaged")
	}
}
