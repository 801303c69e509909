package cli

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestExportHasTheRecordsAndTheJSONOfTheAPI(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "90")
	s := harness.Start(t, dir)
	for args, path := range map[string]string{
		"":                                 "/v1/pets?limit=100",
		"--type pets --format ndjson":      "/v1/pets?limit=100",
		"--status sold":                    "/v1/pets?limit=100&status=sold",
		"--type orders":                    "/v1/store/orders?limit=100",
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

func TestExportFormatFollowsTheFlagAndTheExtension(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "25")
	for args, want := range map[string]string{
		"pets.csv": "id,", "orders.CSV --type orders": "id,petId,status,createdAt,updatedAt\r\n", "- --format csv": "id,name,categoryId,status\r\n",
		"pets.ndjson": "{", "pets.jsonl": "{", "-": "{", "pets.txt --format ndjson": "{", "other.csv --format ndjson": "{",
	} {
		args := strings.Fields(args)
		stdout, stderr, code := harness.Run(t, dir, append([]string{"export"}, args...)...)
		if code != 0 {
			t.Fatal(args, stderr)
		}
		if args[0] != "-" {
			if !strings.HasPrefix(stdout, "exported ") {
				t.Errorf("%v: got stdout %q, want the number of records", args, stdout)
			}
			stdout = harness.ReadFile(t, filepath.Join(dir, args[0]))
		}
		if !strings.HasPrefix(stdout, want) {
			t.Errorf("%v: got %.60q, want it to begin with %q", args, stdout, want)
		}
	}
}

// TestStoppedExportLeavesNoFile stops exports whose standard error blocks, so that they do not
// end before. It expects that another run succeeds, also after a SIGKILL, which leaves a
// partial file.
func TestStoppedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "100000")
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		reader, stderr := harness.FullPipe(t)
		cmd := harness.CommandWithTimeout(t, dir, "export", "pets.csv")
		cmd.Stderr = stderr
		harness.Check(t, cmd.Start())
		harness.Eventually(t, "the export has begun", func() bool { return exists("pets.csv.partial") })
		_ = cmd.Process.Signal(signal)
		if signal != syscall.SIGKILL {
			_ = stderr.Close()
			text, _ := io.ReadAll(reader) // until the export ends
			if exists("pets.csv.partial") {
				t.Errorf("%s: the partial file is left", signal)
			}
			if want := "petstore: interrupted: pets.csv was not written\n"; !strings.HasSuffix(string(text), want) {
				t.Errorf("%s: got stderr %q, want it to end with %q", signal, bytes.Trim(text, "\x00"), want)
			}
		}
		_ = cmd.Wait() // only the exit code matters
		want := map[bool]int{true: -1, false: 1}[signal == syscall.SIGKILL]
		if code := cmd.ProcessState.ExitCode(); code != want || exists("pets.csv") {
			t.Errorf("%s: got code %d and pets.csv %t, want %d and false", signal, code, exists("pets.csv"), want)
		}
	}
	harness.MustRun(t, dir, "export", "pets.csv")
	if lines := strings.Count(harness.ReadFile(t, filepath.Join(dir, "pets.csv")), "\r\n"); lines != 100_001 || exists("pets.csv.partial") {
		t.Errorf("got %d lines and a partial file %t, want 100001 and false", lines, exists("pets.csv.partial"))
	}
}
