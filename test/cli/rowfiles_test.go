package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// runOnSmallDisk runs a shell script on a file system of a size, which is mounted on
// dir/small. The script runs petstore as "$0".
func runOnSmallDisk(t *testing.T, dir, size, script string) string {
	t.Helper()
	harness.Check(t, os.MkdirAll(filepath.Join(dir, "small"), 0o700))
	cmd := harness.Command(t.Context(), dir)
	cmd.Args = []string{"sh", "-c", "mount -t tmpfs -o size=" + size + " none small && cd small && " + script, cmd.Path}
	cmd.Path = "/bin/sh"
	out, err := harness.AllowMounts(t, cmd).CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestImportContinuesWhenTheDiskIsNoLongerFull(t *testing.T) {
	t.Parallel()
	const rows = 60_000
	dir := t.TempDir()
	writeRows(t, dir, "pets.csv", rows)
	out := runOnSmallDisk(t, dir, "16m", `head -c 15000000 /dev/zero > filler; "$0" import ../pets.csv; echo "exit $?"; rm filler; "$0" import ../pets.csv && cp petstore.db ..`)
	full, rest, _ := strings.Cut(out, "\nexit 1\n")
	lines := strings.Split(full, "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "petstore: the store petstore.db: the disk is full: free some space: added ") || !strings.HasSuffix(last, " of 60000 animals; run the same command again to continue") {
		t.Errorf("got the output %q, want that the disk is full", out)
	}
	if !strings.Contains(rest, ", after the ") {
		t.Errorf("the second run: got the output %q, want that it continued", rest)
	}
	wantRows(t, dir, rows)
}

func TestFileWithTheSizeZeroIsRead(t *testing.T) {
	t.Parallel()
	_, stderr, code := harness.Run(t, harness.NewStore(t), "import", "/proc/version", "--format", "csv")
	if code != 1 || !strings.Contains(stderr, "petstore: /proc/version: line 1: the header has ") {
		t.Errorf("got code %d, stderr %q; want 1 and an invalid header", code, stderr)
	}
}

func TestCommandOnAFullDiskNamesTheRemedy(t *testing.T) {
	t.Parallel()
	const full = "petstore: the store petstore.db: the disk is full: free some space"
	for args, want := range map[string]string{
		"keys create --name n": full + "\n",
		"keys rotate 1":        full + "\n",
		"seed --count 99999":   full + ": added ",
	} {
		out := runOnSmallDisk(t, t.TempDir(), "4m", `"$0" keys create --name n >key && { cat /dev/zero >filler; truncate -s -36k filler; } 2>/dev/null; "$0" `+args+`; echo "exit $?"`)
		if !strings.Contains("\n"+out, "\n"+want) || !strings.HasSuffix(out, "\nexit 1\n") {
			t.Errorf("%s: got the output %q, want %q and exit 1", args, out, want)
		}
	}
}

func TestFileOnAFullDiskIsRemoved(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "10000")
	for command, want := range map[string]string{
		"export pets.csv":  "petstore: write pets.csv.partial: no space left on device: pets.csv was not written",
		"backup monday.db": "the disk is full: free some space",
	} {
		out := runOnSmallDisk(t, dir, "64k", `"$0" `+command+` --set database.dsn=../petstore.db; echo "exit $?"; ls -A`)
		if want += "\nexit 1\n"; !strings.HasSuffix(out, want) {
			t.Errorf("%s: got the output %q, want it to end with %q and no file", command, out, want)
		}
	}
}
