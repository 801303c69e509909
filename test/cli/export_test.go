package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestExportHasTheRecordsAndTheJSONOfTheAPI(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "60")
	s := harness.Start(t, dir)
	s.AddPet(t, "Rex")
	for args, path := range map[string]string{
		"":                                 "/v1/pets?limit=100",
		"--type pets --format ndjson":      "/v1/pets?limit=100",
		"--status sold":                    "/v1/pets?limit=100&status=sold",
		"--type orders":                    "/v1/store/orders?limit=100",
		"--type changes":                   "/v1/changes?limit=100",
		"--type orders --status delivered": "/v1/store/orders?limit=100&status=delivered",
	} {
		stdout, stderr, code := harness.Run(t, dir, append([]string{"export"}, strings.Fields(args)...)...)
		if code != 0 || stdout == "" || !strings.Contains(stderr, "exported ") {
			t.Errorf("%s: got code %d, stdout %q, stderr %q; want 0, records and their number", args, code, stdout, stderr)
		}
		got := "[" + strings.ReplaceAll(strings.TrimSuffix(stdout, "\n"), "\n", ",") + "]"
		_, want, err := s.Do(t.Context(), http.MethodGet, path, "")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-API +export)\n%s", args, err, diff)
		}
	}
}

// TestStoppedExportLeavesNoFile stops exports. They cannot end before the signal, because their standard
// error blocks. It expects that another run succeeds, also after a SIGKILL, which leaves a partial file.
func TestStoppedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "100000")
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		stderr, code := runBlocked(t, dir, "export pets.csv", "pets.csv", func(p *os.Process) { _ = p.Signal(signal) })
		want, wantCode := "petstore: interrupted: pets.csv was not written\n", 1
		if signal == syscall.SIGKILL {
			want, wantCode = "", -1
		}
		found := modes(t, dir)
		if code != wantCode || !strings.HasSuffix(stderr, want) || found["pets.csv"] != 0 ||
			hasPartial(found, "pets.csv") != (signal == syscall.SIGKILL) {
			t.Errorf("%s: got code %d, stderr %q and the files %v", signal, code, strings.Trim(stderr, "\x00"), found)
		}
	}
	harness.MustRun(t, dir, "export", "pets.csv")
	if lines := strings.Count(harness.ReadFile(t, filepath.Join(dir, "pets.csv")), "\r\n"); lines != 100_001 {
		t.Errorf("got %d lines, want 100001", lines)
	}
}

// runBlocked runs a command whose standard error blocks. When the command has created the partial form of a
// file, runBlocked calls fn. It returns the exit code and what the command writes to standard error.
func runBlocked(t *testing.T, dir, args, file string, fn func(*os.Process)) (stderr string, code int) {
	t.Helper()
	reader, full := harness.FullPipe(t)
	cmd := harness.CommandWithTimeout(t, dir, strings.Fields(args)...)
	cmd.Stderr = full
	testkit.Check(t, cmd.Start())
	testkit.WaitUntil(t, "a part of "+file+" exists", func() bool { return hasPartial(modes(t, dir), file) })
	fn(cmd.Process)
	_ = full.Close() // the process has its own descriptor
	text, _ := io.ReadAll(reader)
	_ = cmd.Wait() // only the exit code matters
	return string(text), cmd.ProcessState.ExitCode()
}

// hasPartial reports whether one of the files, by name, is the partial form of file.
func hasPartial(files map[string]os.FileMode, file string) bool {
	for name := range files {
		if strings.HasPrefix(name, file+".") && strings.HasSuffix(name, ".partial") {
			return true
		}
	}
	return false
}

func TestInterruptedCopySaysHowToBeginAnew(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "40000")
	lastLine, code := signalCommand(t, harness.Command(t.Context(), dir, "copy", "--to", "copy.db"), syscall.SIGINT)
	const outcome = "petstore: interrupted: the target is an unfinished copy; run the same command again to begin anew\n"
	if code != 1 || lastLine != outcome {
		t.Fatalf("got code %d and the last line %q; want 1 and %q", code, lastLine, outcome)
	}
	harness.WantError(t, dir, "keys list --set database.dsn=copy.db",
		"open the store copy.db: it is an unfinished copy of "+harness.StorePath(dir)+
			": run the same petstore copy again, which begins anew, or use another store")
	if stdout := harness.MustRun(t, dir, "copy", "--to", "copy.db"); !strings.Contains(stdout, "\npets: 40000 rows, SHA-256 ") {
		t.Errorf("got stdout %q, want all rows", stdout)
	}
	harness.WantSameExports(t, dir, "copy.db")
}

func TestCopyOfServedStoreNeedsSnapshot(t *testing.T) {
	t.Parallel()
	dir, other := harness.SeededStore(t, "10"), harness.NewStore(t)
	harness.Start(t, dir)
	const inUse = ": a process has it open: stop the service and all petstore commands, then try again"
	harness.WantError(t, dir, "copy --to copy.db", "open the source "+harness.StorePath(dir)+inUse+
		", or add --snapshot to copy it as it is now, without later changes: nothing was copied")
	if found := modes(t, dir); found["copy.db"] != 0 {
		t.Error("copy.db was created")
	}
	harness.WantError(t, dir, "copy --snapshot --from "+harness.StorePath(other),
		"open the target "+harness.StorePath(dir)+inUse+": nothing was copied")
	harness.MustRun(t, dir, "copy", "--to", "copy.db", "--snapshot")
	harness.WantSameExports(t, dir, "copy.db")
}

// SQLite needs a temporary file for a statement that inserts many rows. It looks for a folder in many places.
func TestCopyWithoutATemporaryFolderNamesTheRemedy(t *testing.T) {
	t.Parallel()
	dir, disk := harness.SeededStore(t, "20000"), t.TempDir()
	cmd := harness.CommandAfter(t.Context(), dir, `unset TMPDIR && for folder in /tmp /var/tmp; do
		mount --bind $folder $folder && mount -o remount,bind,ro $folder; done &&
		mount -t tmpfs none `+disk+` && cp petstore.db `+disk+` && cd /tmp`,
		"copy", "--from", filepath.Join(disk, "petstore.db"), "--to", filepath.Join(disk, "copy.db"))
	_, stderr, code := harness.RunCommand(t, harness.AllowMounts(t, cmd))
	const want = ": there is no temporary folder that this user can write: set TMPDIR to one: the target is an unfinished copy; "
	if code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
}

func TestCopyBeginsAnewWhenTheDiskIsNoLongerFull(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "40000")
	out := runOnSmallDisk(t, dir, "24m", `head -c 21000000 /dev/zero > filler; "$0" copy --from ../petstore.db --to copy.db; echo "exit $?"
		rm filler; "$0" copy --from ../petstore.db --to copy.db && cp copy.db ..`)
	full, rest, _ := strings.Cut(out, "\nexit 1\n")
	if !strings.HasSuffix(full, "the disk is full: free some space: the target is an unfinished copy; run the same command again to "+
		"begin anew") {
		t.Errorf("got the output %q, want that the disk is full", out)
	}
	if !strings.Contains(rest, "\npets: 40000 rows, SHA-256 ") {
		t.Errorf("the second run: got the output %q, want that all was copied", rest)
	}
	harness.WantSameExports(t, dir, "copy.db")
}
