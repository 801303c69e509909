package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestOpenNamesTheCause(t *testing.T) {
	t.Parallel()
	const readOnly = `mount --bind . . && mount -o remount,bind,ro . && cd "$PWD"`
	const small = `mount -t tmpfs -o size=64k none . && cd "$PWD"`
	for name, test := range map[string]struct{ prepare, args, want string }{
		"read-only":        {readOnly, "keys list", "the file system is read-only: mount it for writing, or name a file elsewhere"},
		"new, read-only":   {readOnly, "migrate up --set database.dsn=new.db", "the file system is read-only: mount it for writing, or name a file elsewhere"},
		"full":             {small, "migrate up", "the disk is full: make room"},
		"the WAL a folder": {"mkdir petstore.db-wal", "keys list", "there is a folder where the file, its -wal or its -shm belongs: move it away"},
		"the shm a folder": {"mkdir petstore.db-shm", "keys list", "there is a folder where the file, its -wal or its -shm belongs: move it away"},
		"below a file":     {"true", "keys list --set database.dsn=petstore.db/x", "a part of the path is not a directory: correct the path"},
		"without a folder": {"true", "migrate up --set database.dsn=none/pets.db", "there is no folder none: create it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stderr := prepared(t, folderWithStore(t), test.prepare, strings.Fields(test.args)...)
			if !strings.HasPrefix(stderr, "petstore: open the store ") || !strings.HasSuffix(stderr, ": "+test.want+"\n") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr %q, want %q", stderr, test.want)
			}
		})
	}
}

func TestOpenNamesTooManyOpenFiles(t *testing.T) {
	t.Parallel()
	folder := folderWithStore(t)
	named := 0
	for limit := 6; ; limit++ { // with fewer a Go program does not even start
		stderr := prepared(t, folder, fmt.Sprint("ulimit -n ", limit), "keys", "list")
		if stderr == "" {
			break
		}
		if strings.HasPrefix(stderr, "petstore: open the store") {
			named++
			if stderr != "petstore: open the store petstore.db: too many open files: raise the limit (ulimit -n)\n" {
				t.Errorf("with %d files: %q", limit, stderr)
			}
		}
	}
	if named == 0 {
		t.Error("the store was opened with every limit")
	}
}

func TestOpenNamesALock(t *testing.T) {
	t.Parallel()
	folder := folderWithStore(t)
	defer lock(t, database(folder))()
	_, stderr, code := output(t, folder, "keys", "list")
	want := "petstore: open the store petstore.db: another process keeps it locked: end that process, then try again\n"
	if code != 1 || stderr != want {
		t.Errorf("code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
}

// prepared runs the program in a folder that a shell has prepared, in which it may
// mount file systems, and returns what it wrote to stderr.
func prepared(t *testing.T, folder, prepare string, args ...string) (stderr string) {
	t.Helper()
	const failed = 99
	program := command(t.Context(), folder, args...)
	script := fmt.Sprintf(`%s || exit %d; exec "$0" "$@"`, prepare, failed)
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script}, program.Args...)...)
	cmd.Dir, cmd.Env = program.Dir, program.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == failed {
		t.Skipf("this machine does not allow it: %v %s", err, errs.String())
	}
	return errs.String()
}
