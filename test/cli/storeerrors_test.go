package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"
)

func TestOpenErrorsNameCauseAndRemedy(t *testing.T) {
	t.Parallel()
	const readOnly = `mount --bind . . && mount -o remount,bind,ro . && cd "$PWD"`
	const small = `mount -t tmpfs -o size=64k none . && cd "$PWD"`
	for name, test := range map[string]struct{ prepare, args, want string }{
		"read-only":        {readOnly, "keys list", "the file system is read-only: mount it for writing, or name a file elsewhere"},
		"new, read-only":   {readOnly, "migrate up --set database.dsn=new.db", "the file system is read-only: mount it for writing, or name a file elsewhere"},
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
			if !strings.HasPrefix(stderr, "petstore: open the store ") || !strings.HasSuffix(stderr, ": "+test.want+"\n") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("got stderr %q, want one line that ends with %q", stderr, test.want)
			}
		})
	}
}

func TestOpenErrorNamesTooManyOpenFiles(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	errorsSeen := 0
	for limit := 6; ; limit++ { // with fewer a Go program does not start
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
	_, stderr, code := harness.Run(t, dir, "keys", "list")
	want := "petstore: open the store petstore.db: it is locked by another process: stop that process, then try again\n"
	if code != 1 || stderr != want {
		t.Errorf("got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
}

func TestStoreWithoutPermissionsIsRejected(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	for name, mode := range map[string]os.FileMode{"unreadable": 0o000, "unwritable": 0o444} {
		harness.Check(t, os.Chmod(harness.StorePath(dir), mode))
		stderr, code := runAsNobody(t, dir, "keys", "create", "--name", "n")
		if code != 1 || !strings.Contains(stderr, "open the store petstore.db: permission denied: let this user") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: got code %d, stderr %q; want 1 and permission denied", name, code, stderr)
		}
	}
}

func TestFileInAnUnwritableFolderIsRejected(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.Check(t, os.Mkdir(filepath.Join(dir, "locked"), 0o555))
	stderr, code := runAsNobody(t, dir, "backup", "locked/monday.db")
	want := "petstore: permission denied: let this user write to the folder locked, or name a file in another folder\n"
	if code != 1 || stderr != want {
		t.Errorf("got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
}

// runAsNobody runs petstore as a user without root's permission to open any file.
func runAsNobody(t *testing.T, dir string, args ...string) (stderr string, code int) {
	t.Helper()
	cmd := harness.Command(t.Context(), dir, args...)
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Path = copyProgramFor(t, nobody, dir)
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+dir) // that of the tests may be writable by root only
	}
	_, stderr, code = harness.RunCommand(t, cmd)
	return stderr, code
}

// copyProgramFor copies the program to a directory that a user can read, makes dir readable
// for the user, and returns the path of the copy.
func copyProgramFor(t *testing.T, user int, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "petstore")
	// Copied by another process: a process that a parallel test starts would inherit the file
	// open for writing, which cannot be executed (go.dev/issue/22315).
	if out, err := exec.CommandContext(t.Context(), "cp", harness.Program(t), path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range []string{dir, filepath.Dir(dir), filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		harness.Check(t, os.Chmod(path, 0o755))
	}
	for _, path := range []string{dir, harness.StorePath(dir)} {
		harness.Check(t, os.Chown(path, user, user))
	}
	return path
}
