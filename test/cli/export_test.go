package cli

import (
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
	s := harness.Start(t, dir, "--set", "changes.enabled=true")
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

// TestStoppedExportLeavesNoFile stops exports, which would end before if their standard error did not block. It expects that
// another run succeeds, also after a SIGKILL, which leaves a partial file.
func TestStoppedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "100000")
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		stderr, code := runBlocked(t, dir, "export pets.csv", "pets.csv.partial", func(p *os.Process) { _ = p.Signal(signal) })
		want, wantCode := "petstore: interrupted: pets.csv was not written\n", 1
		if signal == syscall.SIGKILL {
			want, wantCode = "", -1
		}
		found := modes(t, dir)
		if code != wantCode || !strings.HasSuffix(stderr, want) || found["pets.csv"] != 0 || (found["pets.csv.partial"] != 0) != (signal == syscall.SIGKILL) {
			t.Errorf("%s: got code %d, stderr %q and the files %v", signal, code, strings.Trim(stderr, "\x00"), found)
		}
	}
	harness.MustRun(t, dir, "export", "pets.csv")
	if lines := strings.Count(harness.ReadFile(t, filepath.Join(dir, "pets.csv")), "\r\n"); lines != 100_001 || modes(t, dir)["pets.csv.partial"] != 0 {
		t.Errorf("got %d lines, want 100001, and the files %v", lines, modes(t, dir))
	}
}

// runBlocked runs a command until it has created a file, while its standard error blocks, and then calls fn. It returns what
// the command writes to standard error, and its exit code.
func runBlocked(t *testing.T, dir, args, created string, fn func(*os.Process)) (stderr string, code int) {
	t.Helper()
	reader, full := harness.FullPipe(t)
	cmd := harness.CommandWithTimeout(t, dir, strings.Fields(args)...)
	cmd.Stderr = full
	harness.Check(t, cmd.Start())
	harness.Eventually(t, created+" exists", func() bool { return modes(t, dir)[created] != 0 })
	fn(cmd.Process)
	_ = full.Close() // the process has its own descriptor
	text, _ := io.ReadAll(reader)
	_ = cmd.Wait() // only the exit code matters
	return string(text), cmd.ProcessState.ExitCode()
}
