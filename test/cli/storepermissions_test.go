package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"
)

func TestStoreWithoutPermissionsIsRejected(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	for name, mode := range map[string]os.FileMode{"unreadable": 0o000, "unwritable": 0o444} {
		if err := os.Chmod(harness.StorePath(dir), mode); err != nil {
			t.Fatal(err)
		}
		stderr, code := runAsNobody(t, dir, "keys", "create", "--name", "n")
		if code != 1 || !strings.Contains(stderr, "open the store petstore.db: permission denied: let this user") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: got code %d, stderr %q; want 1 and permission denied", name, code, stderr)
		}
	}
}

func TestFileInAnUnwritableFolderIsRejected(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	if err := os.Mkdir(filepath.Join(dir, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
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
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return errs.String(), cmd.ProcessState.ExitCode()
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
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, harness.StorePath(dir)} {
		if err := os.Chown(path, user, user); err != nil {
			t.Fatal(err)
		}
	}
	return path
}
