package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestNewStoreHasMode0600AndAnExistingOneKeepsItsOwn(t *testing.T) {
	t.Parallel()
	for umask, dir := range map[string]string{"000": t.TempDir(), "022": t.TempDir(), "277": t.TempDir(), "002": harness.NewStore(t)} {
		mode := fs.FileMode(0o600)
		if umask == "002" {
			mode = 0o640
			testkit.Check(t, os.Chmod(harness.StorePath(dir), mode))
		}
		harness.StartCommand(t, harness.CommandAfter(t.Context(), dir, "umask "+umask, "serve", "--first-key"))
		wantModes(t, dir, map[string]fs.FileMode{
			"petstore.db": mode, "petstore.db-shm": mode, "petstore.db-wal": mode, "petstore.db-lock": mode, "petstore.db-service": mode,
		})
	}
}

// wantModes expects that dir has exactly the files in want, with these modes. want may be from an earlier
// call of modes.
func wantModes(t *testing.T, dir string, want map[string]fs.FileMode) {
	t.Helper()
	if diff := cmp.Diff(want, modes(t, dir)); diff != "" {
		t.Errorf("the files of the directory and their modes (-want +got)\n%s", diff)
	}
}

// modes returns the permissions of the files in dir, by name.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testkit.Check(t, err)
	found := map[string]fs.FileMode{}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // a process has removed it since
		}
		testkit.Check(t, err)
		found[entry.Name()] = info.Mode().Perm()
	}
	return found
}

func TestOpenErrorsNameCauseAndRemedy(t *testing.T) {
	t.Parallel()
	const readOnly = `mount --bind . . && mount -o remount,bind,ro . && cd "$PWD"`
	const small = `mount -t tmpfs -o size=64k none . && cd "$PWD"`
	for name, test := range map[string]struct{ prepare, args, want string }{
		"read-only": {readOnly, "keys list", "the file system is read-only: mount it for writing, or name a file elsewhere"},
		"new, read-only": {
			readOnly, "migrate up --set database.dsn=new.db",
			"the file system is read-only: mount it for writing, or name a file elsewhere",
		},
		"full":             {small, "migrate up", "the disk is full: free some space"},
		"the WAL a folder": {"mkdir petstore.db-wal", "keys list", "there is a folder where the file, its -wal or its -shm belongs: move it away"},
		"the shm a folder": {"mkdir petstore.db-shm", "keys list", "there is a folder where the file, its -wal or its -shm belongs: move it away"},
		"below a file":     {"true", "keys list --set database.dsn=petstore.db/x", "a part of the path is not a directory: correct the path"},
		"without a folder": {"true", "migrate up --set database.dsn=none/pets.db", "there is no folder none: create it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := harness.CommandAfter(t.Context(), harness.NewStore(t), test.prepare, strings.Fields(test.args)...)
			if strings.HasPrefix(test.prepare, "mount ") {
				cmd = harness.AllowMounts(t, cmd)
			}
			_, stderr, _ := harness.RunCommand(t, cmd)
			if !strings.HasPrefix(stderr, "petstore: open the store ") || !strings.HasSuffix(stderr, ": "+test.want+"\n") ||
				strings.Count(stderr, "\n") != 1 {
				t.Errorf("got stderr %q, want one line that ends with %q", stderr, test.want)
			}
		})
	}
}

func TestOpenErrorNamesTooManyOpenFiles(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	errorsSeen := 0
	for limit := 6; ; limit++ { // with fewer descriptors, a Go program does not start
		_, stderr, _ := harness.RunCommand(t, harness.CommandAfter(t.Context(), dir, fmt.Sprint("ulimit -n ", limit), "keys", "list"))
		if stderr == "" {
			break
		}
		if strings.HasPrefix(stderr, "petstore: open the store") {
			errorsSeen++
			if stderr != "petstore: open the store petstore.db: too many open files: raise the limit (ulimit -n)\n" {
				t.Errorf("with a limit of %d files: got %q", limit, stderr)
			}
		}
	}
	if errorsSeen == 0 {
		t.Error("the store was opened with every limit, want an error")
	}
}

func TestOpenErrorNamesALock(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	defer harness.LockStore(t, harness.StorePath(dir))()
	harness.WantError(t, dir, "keys list", "open the store petstore.db: it is locked by another process: stop that process, then try again")
}

func TestErrorNamesMissingPermissions(t *testing.T) {
	t.Parallel()
	const ofStore = "open the store petstore.db: permission denied: let this user read and write the file, its -wal and -shm, and their folder"
	dir := harness.NewStore(t)
	for _, test := range []struct {
		mode       os.FileMode // the mode of the store
		args, want string
	}{
		{0o000, "keys create --name n", ofStore},
		{0o444, "keys create --name n", ofStore},
		{0o600, "backup locked/monday.db", "permission denied: let this user write to the folder locked, or name a file in another folder"},
	} {
		testkit.Check(t, errors.Join(os.MkdirAll(filepath.Join(dir, "locked"), 0o555), os.Chmod(harness.StorePath(dir), test.mode)))
		cmd := harness.Command(t.Context(), dir, strings.Fields(test.args)...)
		if os.Getuid() == 0 { // root may open any file, unless it has lost that capability
			cmd.Args = append([]string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search", cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/usr/bin/setpriv"
		}
		if _, stderr, code := harness.RunCommand(t, cmd); code != 1 || stderr != "petstore: "+test.want+"\n" {
			t.Errorf("%s, mode %v: got code %d, stderr %q; want 1 and %q", test.args, test.mode, code, stderr, test.want)
		}
	}
}

// runOnSmallDisk runs a shell script with a file system of the given size on dir/small. The script runs
// petstore as "$0".
func runOnSmallDisk(t *testing.T, dir, size, script string) string {
	t.Helper()
	testkit.Check(t, os.MkdirAll(filepath.Join(dir, "small"), 0o700))
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
	out := runOnSmallDisk(t, dir, "16m", `"$0" migrate up; head -c 15000000 /dev/zero > filler; "$0" import ../pets.csv; echo "exit $?"
		rm filler; "$0" import ../pets.csv && cp petstore.db ..`)
	full, rest, _ := strings.Cut(out, "\nexit 1\n")
	lines := strings.Split(full, "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "petstore: the store petstore.db: the disk is full: free some space: added ") ||
		!strings.HasSuffix(last, " of 60000 animals; run the same command again to continue") {
		t.Errorf("got the output %q, want that the disk is full", out)
	}
	if !strings.Contains(rest, ", after the ") {
		t.Errorf("the second run: got the output %q, want that it continued", rest)
	}
	wantRows(t, dir, rows)
}

func TestCommandOnAFullDiskNamesTheRemedy(t *testing.T) {
	t.Parallel()
	const full = "petstore: the store petstore.db: the disk is full: free some space"
	for args, want := range map[string]string{
		"keys create --name n": full + "\n",
		"keys rotate 1":        full + "\n",
		"seed --count 99999":   full + ": added ",
	} {
		out := runOnSmallDisk(t, t.TempDir(), "4m",
			`"$0" migrate up >key && "$0" keys create --name n >key &&
			{ cat /dev/zero >filler; truncate -s -36k filler; } 2>/dev/null; "$0" `+args+`; echo "exit $?"`)
		if !strings.Contains("\n"+out, "\n"+want) || !strings.HasSuffix(out, "\nexit 1\n") {
			t.Errorf("%s: got the output %q, want %q and exit 1", args, out, want)
		}
	}
}

func TestFileOnAFullDiskIsRemoved(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "10000")
	for command, want := range map[string]string{
		"export pets.csv":  "petstore: write ./pets.csv.partial: no space left on device: pets.csv was not written",
		"backup monday.db": "petstore: write ./monday.db.partial: the disk is full: free some space",
	} {
		out := withoutNumbers(runOnSmallDisk(t, dir, "64k", `"$0" `+command+` --set database.dsn=../petstore.db; echo "exit $?"; ls -A`))
		if want += "\nexit 1\n"; !strings.HasSuffix(out, want) {
			t.Errorf("%s: got the output %q, want it to end with %q and no file", command, out, want)
		}
	}
}

func TestCopyThatIsTooLargeIsNamed(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "10000")
	for command, file := range map[string]string{
		"backup monday.db": "monday.db.partial",
		"restore petstore.db --set database.dsn=new.db": "new.db.restored.partial",
	} {
		cmd := harness.Command(t.Context(), dir)
		cmd.Args, cmd.Path = []string{"sh", "-c", `ulimit -f 400; "$0" ` + command + `; rm -f petstore.db.backup-failed; ls`, cmd.Path}, "/bin/sh"
		out, err := cmd.CombinedOutput()
		want := "petstore: write ./" + file +
			": the file would exceed the limit of its size: raise the limit (ulimit -f), or name a file on another file system\npetstore.db\n"
		if err != nil || !strings.HasSuffix(withoutNumbers(string(out)), want) {
			t.Errorf("%s: got the output %q and %v, want it to end with %q", command, out, err, want)
		}
	}
}

// withoutNumbers returns the output of a command without the numbers in the names of partial files.
func withoutNumbers(out string) string {
	return regexp.MustCompile(`\.\d+\.partial`).ReplaceAllString(out, ".partial")
}
