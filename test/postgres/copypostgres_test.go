package postgres

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestKilledCopyToPostgresAndBackBeginsAnew(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "40000")
	harness.WriteFile(t, dir, "dsn", newPostgresDSN(t)+"\n")
	there := harness.KillCopies(t, dir, "--to-file", "dsn")
	back := harness.KillCopies(t, dir, "--from-file", "dsn", "--to", "back.db")
	if diff := cmp.Diff(harness.CopiedTables(there), harness.CopiedTables(back)); diff != "" || !strings.HasPrefix(harness.CopiedTables(there), "pets: 40000 rows, SHA-256 ") {
		t.Errorf("got %s (-there +back)\n%s", there, diff)
	}
	if strings.Contains(there+back, "hunter2") {
		t.Error("copy printed the password")
	}
	harness.WantSameExports(t, dir, "back.db")
}

func TestCopyOfServedPostgresStoreNeedsSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := usePostgres(t, dir)
	harness.Start(t, dir, flags...)
	for to, want := range map[string]string{
		"--to copy.db":               ", or add --snapshot to copy it as it is now, without later changes: nothing was copied\n",
		"--to copy.db --snapshot":    "",
		"--from other.db":            "a process has it open: stop the service and all petstore commands, then try again: nothing was copied\n",
		"--from other.db --snapshot": "a process has it open: stop the service and all petstore commands, then try again: nothing was copied\n",
	} {
		if strings.HasPrefix(to, "--from") {
			harness.MustRun(t, dir, "migrate", "up", "--set", "database.dsn="+filepath.Join(dir, "other.db"))
		}
		_, stderr, code := harness.Run(t, dir, append(append([]string{"copy"}, strings.Fields(to)...), flags...)...)
		if !strings.HasSuffix(stderr, want) || (code == 0) != (want == "") {
			t.Errorf("%s: got code %d, stderr %q; want %q", to, code, stderr, want)
		}
	}
}
