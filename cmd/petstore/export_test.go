package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seededDir returns a temporary directory with a store of count seeded animals.
func seededDir(t *testing.T, count string) string {
	t.Helper()
	dir := t.TempDir()
	if _, stderr, code := runPetstore(t, dir, "seed", "--count", count, "--orders", "5"); code != 0 {
		t.Fatal(stderr)
	}
	return dir
}

func TestExportHasTheRecordsAndTheJSONOfTheAPI(t *testing.T) {
	t.Parallel()
	dir := seededDir(t, "90")
	s := startServer(t, dir)
	for args, path := range map[string]string{
		"":                                 "/v1/pets?limit=100",
		"--type pets --format ndjson":      "/v1/pets?limit=100",
		"--status sold":                    "/v1/pets?limit=100&status=sold",
		"--type orders":                    "/v1/store/orders?limit=100",
		"--type orders --status delivered": "/v1/store/orders?limit=100&status=delivered",
	} {
		stdout, stderr, code := runPetstore(t, dir, append([]string{"export"}, strings.Fields(args)...)...)
		if code != 0 || stdout == "" || !strings.Contains(stderr, "exported ") {
			t.Errorf("%s: got code %d, stdout %q, stderr %q; want 0, records and their number", args, code, stdout, stderr)
		}
		got := "[" + strings.ReplaceAll(strings.TrimSuffix(stdout, "\n"), "\n", ",") + "]"
		_, want, err := s.do(t.Context(), http.MethodGet, path, "")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-API +export)\n%s", args, err, diff)
		}
	}
}

func TestExportFormatFollowsTheFlagAndTheExtension(t *testing.T) {
	t.Parallel()
	dir := seededDir(t, "25")
	for args, want := range map[string]string{
		"pets.csv": "id,", "orders.CSV --type orders": "id,petId,status,createdAt,updatedAt\r\n", "- --format csv": "id,name,categoryId,status\r\n",
		"pets.ndjson": "{", "pets.jsonl": "{", "-": "{", "pets.txt --format ndjson": "{", "other.csv --format ndjson": "{",
	} {
		args := strings.Fields(args)
		stdout, stderr, code := runPetstore(t, dir, append([]string{"export"}, args...)...)
		if code != 0 {
			t.Fatal(args, stderr)
		}
		if args[0] != "-" {
			if !strings.HasPrefix(stdout, "exported ") {
				t.Errorf("%v: got stdout %q, want the number of records", args, stdout)
			}
			stdout = readFile(t, filepath.Join(dir, args[0]))
		}
		if !strings.HasPrefix(stdout, want) {
			t.Errorf("%v: got %.60q, want it to begin with %q", args, stdout, want)
		}
	}
}

func TestExportRejectsCommandLine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"pets.txt":                    "the format of pets.txt is not known: add --format ndjson or --format csv",
		"--format xml":                `invalid argument "xml" for "--format" flag: must be ndjson or csv`,
		"--type keys":                 `invalid argument "keys" for "--type" flag: must be pets or orders`,
		"--status lost":               `invalid argument "lost" for "--status" flag: must be available, pending or sold`,
		"--status=":                   `invalid argument "" for "--status" flag: must be available, pending or sold`,
		"--status sold --type orders": `invalid argument "sold" for "--status" flag: must be placed, delivered or cancelled`,
		"--status placed --type=pets": `invalid argument "placed" for "--status" flag: must be available, pending or sold`,
		"pets.csv orders.csv":         "accepts at most 1 arg(s), received 2",
	} {
		dir := t.TempDir()
		stdout, stderr, code := runPetstore(t, dir, append([]string{"export"}, strings.Fields(args)...)...)
		if code != 2 || stdout != "" || stderr != "petstore: "+want+"\n" {
			t.Errorf("%s: got code %d, stdout %q, stderr %q; want 2 and %q", args, code, stdout, stderr, want)
		}
	}
}

func TestExportOverwritesNoFile(t *testing.T) {
	t.Parallel()
	dir := seededDir(t, "5")
	if err := os.WriteFile(filepath.Join(dir, "pets.csv"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := runPetstore(t, dir, "export", "pets.csv")
	if code != 1 || stderr != "petstore: pets.csv exists already: name another file, or move it away\n" || readFile(t, filepath.Join(dir, "pets.csv")) != "mine" {
		t.Errorf("got code %d, stderr %q; want 1 and that the file exists", code, stderr)
	}
}

// TestStoppedExportLeavesNoFile expects that another run succeeds, also after a SIGKILL, which
// leaves a partial file.
func TestStoppedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := seededDir(t, "100000")
	for _, test := range []struct {
		signal   syscall.Signal
		code     int
		lastLine string
		partial  bool
	}{
		{syscall.SIGINT, 1, "petstore: interrupted: pets.csv was not written\n", false},
		{syscall.SIGTERM, 1, "petstore: interrupted: pets.csv was not written\n", false},
		{syscall.SIGKILL, -1, " of 100000 animals\n", true},
	} {
		lastLine, code := signalCommand(t, command(t.Context(), dir, "export", "pets.csv"), test.signal)
		if code != test.code || !strings.HasSuffix(lastLine, test.lastLine) {
			t.Errorf("%s: got code %d and the last line %q, want %d and %q", test.signal, code, lastLine, test.code, test.lastLine)
		}
		found := modes(t, dir)
		if _, published := found["pets.csv"]; published {
			t.Errorf("%s: pets.csv exists", test.signal)
		}
		if _, partial := found["pets.csv.partial"]; partial != test.partial {
			t.Errorf("%s: pets.csv.partial exists: %t, want %t", test.signal, partial, test.partial)
		}
	}
	if _, stderr, code := runPetstore(t, dir, "export", "pets.csv"); code != 0 {
		t.Fatal(stderr)
	}
	if lines := strings.Count(readFile(t, filepath.Join(dir, "pets.csv")), "\r\n"); lines != 100_001 {
		t.Errorf("got %d lines, want 100001", lines)
	}
	if _, partial := modes(t, dir)["pets.csv.partial"]; partial {
		t.Error("pets.csv.partial exists, want it removed")
	}
}

func TestExportReportsThatItsOutputIsIncomplete(t *testing.T) {
	t.Parallel()
	dir := seededDir(t, "5000")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	var stderr bytes.Buffer
	cmd := command(t.Context(), dir, "export")
	cmd.Stdout, cmd.Stderr = writer, &stderr
	_ = cmd.Run()
	_ = writer.Close()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(stderr.String(), "broken pipe: the output is incomplete\n") {
		t.Errorf("got code %d, stderr %q; want 1 and a broken pipe", code, stderr.String())
	}
}
