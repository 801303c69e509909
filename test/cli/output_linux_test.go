package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// openFull opens the device to which nothing can be written because it is full.
func openFull(t *testing.T) *os.File {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = full.Close() })
	return full
}

func TestCommandSaysThatItDidItsWorkIfItsOutputFails(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "10")
	writeRows(t, dir, "more.csv", 1)
	for _, output := range []struct {
		stdout *os.File
		reason string
	}{{harness.BrokenPipe(t), "write /dev/stdout: broken pipe"}, {openFull(t), "write /dev/stdout: no space left on device"}} {
		for _, test := range []struct{ args, result string }{
			{"seed --count 2", "added 2 animals and 0 orders in "},
			{"backup monday.db", "wrote monday.db: "},
			{"restore monday.db", "restored " + harness.StorePath(dir) + " from monday.db: 12 animals, "},
			{"copy --to copy.db", "copied "},
			{"export pets.csv", "exported 12 animals in "},
			{"import more.csv", "added 1 animals in "},
			{"import more.csv --dry-run", "checked 1 animals, and stored nothing"},
		} {
			cmd := harness.Command(t.Context(), dir, strings.Fields(test.args)...)
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = output.stdout, &stderr
			_ = cmd.Run() // only the exit code matters
			want := "petstore: the work is done, but standard output could not be written (" + output.reason + "): " + test.result
			lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
			if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.HasPrefix(lines[len(lines)-1], want) {
				t.Errorf("%s: got code %d, stderr %q, want 1 and %q at the end", test.args, code, stderr.String(), want)
			}
		}
		for _, name := range []string{"monday.db", "copy.db", "pets.csv"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if err := os.Remove(harness.StorePath(dir)); err != nil {
			t.Error(err)
		}
		harness.Run(t, dir, "seed", "--count", "10", "--orders", "0")
	}
}

func TestExportReportsThatItsOutputIsIncomplete(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "5000")
	var stderr bytes.Buffer
	cmd := harness.Command(t.Context(), dir, "export")
	cmd.Stdout, cmd.Stderr = openFull(t), &stderr
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(stderr.String(), "no space left on device: the output is incomplete\n") {
		t.Errorf("got code %d, stderr %q; want 1 and a full disk", code, stderr.String())
	}
}

func TestKeyThatCannotBePrintedIsAnError(t *testing.T) {
	t.Parallel()
	for name, stdout := range map[string]*os.File{"a full disk": openFull(t), "a broken pipe": harness.BrokenPipe(t)} {
		for _, args := range [][]string{{"keys", "create", "--name", "n"}, {"serve", "--first-key"}} {
			cmd := harness.Command(t.Context(), t.TempDir(), args...)
			var errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = stdout, &errs
			err := cmd.Run()
			stderr := errs.String()
			if err == nil || !strings.Contains(stderr, "the API key was created but not printed: ") || !strings.Contains(stderr, ": revoke it, ") {
				t.Errorf("petstore %v to %s: got %v, %q; want the error and its remedy", args, name, err, stderr)
			}
		}
	}
}
