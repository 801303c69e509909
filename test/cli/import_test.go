package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// writeRows writes a file of n animals. Their names are the numbers from 1.
func writeRows(t *testing.T, dir, name string, n int) {
	t.Helper()
	var text strings.Builder
	text.WriteString("name,categoryId\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,7\n", i+1)
	}
	harness.WriteFile(t, dir, name, text.String())
}

// wantRows expects the animals of writeRows, each once and in order.
func wantRows(t *testing.T, dir string, n int) {
	t.Helper()
	total := harness.QueryInt(t, dir, "SELECT count(*) FROM pets")
	ordered := harness.QueryInt(t, dir,
		"SELECT count(*) FROM (SELECT name, row_number() OVER (ORDER BY id) AS n FROM pets) WHERE name = CAST(n AS TEXT)")
	if total != n || ordered != n {
		t.Errorf("got %d animals, %d of them in their order, want %d", total, ordered, n)
	}
}

// Another process creates the file for the rejects while the import runs.
func TestRejectsAreWrittenByAnotherRun(t *testing.T) {
	t.Parallel()
	for args, hint := range map[string]string{"": "run the same command again", "--again": "run the command again without --again"} {
		dir := harness.NewStore(t)
		harness.WriteFile(t, dir, "pets.csv", "name,categoryId\nRex,x\nTom,8\n")
		stderr, code := runBlocked(t, dir, "import pets.csv --rejects rejects.csv "+args, "rejects.csv", func(*os.Process) {
			harness.WriteFile(t, dir, "rejects.csv", "other")
		})
		want := regexp.MustCompile("rejects.csv exists already: name another file, or move it away: added 1 animal in [^,]+, " +
			"but rejects.csv was not written; " + hint + " to write it\n$")
		if code != 1 || !want.MatchString(stderr) {
			t.Errorf("%q: got code %d, stderr %q; want 1 and %q", args, code, stderr, want)
		}
		if n := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); n != 1 {
			t.Errorf("%q: got %d animals, want 1", args, n)
		}
	}
}

func TestInterruptedImportSaysWhatIsStoredAndContinues(t *testing.T) {
	t.Parallel()
	const rows = 60_000
	dir := harness.NewStore(t)
	writeRows(t, dir, "pets.csv", rows)
	cmd := harness.Command(t.Context(), dir, "import", "pets.csv", "--rejects", "rejects.csv")
	stderr, ended := harness.StartUntil(t, cmd, "animals are imported",
		func(string) bool { return harness.QueryInt(t, dir, "SELECT count(*) FROM pets") > 0 })
	_ = cmd.Process.Signal(syscall.SIGINT)
	if err := <-ended; err == nil {
		t.Fatal("the import had ended, want it interrupted")
	}
	pattern := regexp.MustCompile(`\npetstore: interrupted: added (\d+) of 60000 animals; run the same command again to continue\n$`)
	found := pattern.FindStringSubmatch(stderr.String())
	if code := cmd.ProcessState.ExitCode(); code != 1 || found == nil {
		t.Fatalf("got code %d, stderr %q; want 1 and %s", code, stderr, pattern)
	}
	if stored := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); found[1] != fmt.Sprint(stored) || stored == rows {
		t.Errorf("got %d animals in the store, want the %s that it reported", stored, found[1])
	}
	if found := modes(t, dir); hasPartial(found, "rejects.csv") {
		t.Errorf("got the files %v, want no part of rejects.csv", found)
	}
	harness.MustRun(t, dir, "import", "pets.csv", "--again")
	wantRows(t, dir, rows)
}

func TestImportReadsStandardInputAndPipes(t *testing.T) {
	t.Parallel()
	const rows = 2500
	files := t.TempDir()
	writeRows(t, files, "pets.csv", rows)
	testkit.Check(t, unix.Mkfifo(filepath.Join(files, "pipe.csv"), 0o600))
	for _, shell := range []string{"exec < pets.csv", "cat pets.csv > pipe.csv & true"} {
		dir, input := harness.NewStore(t), []string{"-", "--format", "csv"}
		if strings.Contains(shell, "pipe") {
			input = []string{filepath.Join(files, "pipe.csv")}
		}
		cmd := harness.CommandAfter(t.Context(), dir, "cd "+files+" && { "+shell+"; } && cd "+dir, append([]string{"import"}, input...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", shell, err, out)
		}
		wantRows(t, dir, rows)
	}
}

func TestSignalInterruptsWaitingForStandardInput(t *testing.T) {
	t.Parallel()
	cmd := harness.CommandWithTimeout(t, t.TempDir(), "import", "-", "--format", "csv")
	stdin, err := cmd.StdinPipe()
	testkit.Check(t, err)
	defer stdin.Close()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	testkit.Check(t, cmd.Start())
	if _, err := stdin.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil { // more than a pipe holds, so the import reads
		t.Fatal(err)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	const want = "petstore: interrupted: this run stored nothing\n"
	if code := cmd.ProcessState.ExitCode(); code != 1 || stderr.String() != want {
		t.Errorf("got code %d, stderr %q; want 1 and %q", code, stderr.String(), want)
	}
}

// inconsistentOrders counts the orders whose animal does not have the status that follows from the order.
const inconsistentOrders = `SELECT count(*) FROM orders o JOIN pets p ON p.id = o.pet_id WHERE p.status IS NOT
	CASE o.status WHEN 'placed' THEN 'pending' WHEN 'delivered' THEN 'sold' ELSE 'available' END`

// TestStoppedSeedHasCommittedWhatItReported expects that the store contains exactly the animals that an
// interrupted seed has reported. A seed that was killed may have added up to a tenth more since its last
// report.
func TestStoppedSeedHasCommittedWhatItReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signal     syscall.Signal
		code       int
		lastLine   string
		unreported int
	}{
		"interrupted": {syscall.SIGINT, 1, "petstore: interrupted: added %d of 300000 animals\n", 0},
		"killed":      {syscall.SIGKILL, -1, "%d of 300000 animals\n", 300_000 / 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewStore(t)
			seed := harness.Command(t.Context(), dir, "seed", "--count", "300000", "--orders", "5")
			lastLine, code := signalCommand(t, seed, test.signal)
			var reported int
			if _, err := fmt.Sscanf(lastLine, test.lastLine, &reported); err != nil || reported == 0 || code != test.code {
				t.Fatalf("got code %d and the last line %q, want %d and %q", code, lastLine, test.code, test.lastLine)
			}
			if added := harness.QueryInt(t, dir, "SELECT count(*) FROM pets"); added < reported || added > reported+test.unreported {
				t.Errorf("got %d animals in the store, want %d to %d", added, reported, reported+test.unreported)
			}
			if orders := harness.QueryInt(t, dir, "SELECT count(*) FROM orders"); orders == 0 {
				t.Error("got no orders")
			}
			if n := harness.QueryInt(t, dir, inconsistentOrders); n != 0 {
				t.Errorf("got %d orders whose animals have another status", n)
			}
		})
	}
}

// signalCommand runs a command and sends it a signal after its first line of progress. It returns the last
// line and the exit code.
func signalCommand(t *testing.T, cmd *exec.Cmd, signal os.Signal) (lastLine string, code int) {
	t.Helper()
	stderr, ended := harness.StartUntil(t, cmd, "there is progress", func(progress string) bool { return strings.Contains(progress, "\n") })
	_ = cmd.Process.Signal(signal)
	<-ended //nolint:errcheck // only the exit code matters
	lines := slices.Collect(strings.Lines(stderr.String()))
	return lines[len(lines)-1], cmd.ProcessState.ExitCode()
}
