package cli

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// TestRestorePutsTheBackupInPlaceAndBack restores a store whose service was killed, which leaves a WAL. A position of its changes
// that a client has read is not valid any more, because the changes after the restore would have the same.
func TestRestorePutsTheBackupInPlaceAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir, "--set", "changes.enabled=true")
	s.AddPet(t, "Rex")
	harness.MustRun(t, dir, "backup", "monday.db")
	s.AddPet(t, "Tom")
	before := modes(t, dir)
	harness.WantError(t, dir, "restore monday.db", "petstore.db: a process has it open: stop the service and all petstore commands, then try again")
	wantModes(t, dir, before)
	read := harness.QueryInt(t, dir, "SELECT max(id) FROM changes")
	s.WantStatus(t, fmt.Sprint("/v1/changes?after=", read), http.StatusOK)
	s.Kill()

	stdout := harness.MustRun(t, dir, "restore", "monday.db")
	wantAnimals(t, dir, 1)
	restored := harness.Start(t, dir, "--set", "changes.enabled=true")
	restored.Key = s.Key
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
	s.Kill()

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
