package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
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
			stderr := runForStderr(t, allowMounts(t, commandAfter(t.Context(), dirWithStore(t), test.prepare, strings.Fields(test.args)...)))
			if !strings.HasPrefix(stderr, "petstore: open the store ") || !strings.HasSuffix(stderr, ": "+test.want+"\n") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("got stderr %q, want one line that ends with %q", stderr, test.want)
			}
		})
	}
}

func TestFullDiskIsCountedWhileReadsAreServed(t *testing.T) {
	t.Parallel()
	cmd := commandAfter(t.Context(), t.TempDir(), `mount -t tmpfs -o size=512k none . && cd "$PWD"`,
		"serve", "--first-key", "--set", "admin.address=127.0.0.1:0")
	s := startServerCommand(t, allowMounts(t, cmd))
	admin := adminURL(t, s)
	name, failed := strings.Repeat("x", 200), 0
	for posted := 0; failed < 3 && posted < 10_000; posted++ {
		status, body, err := s.post(t.Context(), petBody(name))
		switch {
		case err != nil || status != http.StatusCreated && status != http.StatusServiceUnavailable:
			t.Fatal(status, body, err)
		case status == http.StatusServiceUnavailable:
			failed++
		}
	}
	for _, path := range []string{"/readyz", "/v1/pets"} {
		s.wantStatus(t, path, http.StatusOK)
	}
	_, metrics := get(t, admin+"/metrics")
	_, count, _ := strings.Cut(metrics, "\n"+`petstore_store_errors_total{kind="full"} `)
	var counted int
	if _, err := fmt.Sscan(count, &counted); err != nil || counted < failed || failed == 0 { // writing the last use of the key may fail, too
		t.Errorf("%d requests failed: got the count %d, %v", failed, counted, err)
	}
}

func TestOpenErrorNamesTooManyOpenFiles(t *testing.T) {
	t.Parallel()
	dir := dirWithStore(t)
	errorsSeen := 0
	for limit := 6; ; limit++ { // with fewer a Go program does not start
		stderr := runForStderr(t, commandAfter(t.Context(), dir, fmt.Sprint("ulimit -n ", limit), "keys", "list"))
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
	dir := dirWithStore(t)
	defer lockStore(t, storePath(dir))()
	_, stderr, code := runPetstore(t, dir, "keys", "list")
	want := "petstore: open the store petstore.db: it is locked by another process: stop that process, then try again\n"
	if code != 1 || stderr != want {
		t.Errorf("got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
}

// allowMounts lets cmd mount file systems in its own mount namespace. It skips the test if
// the machine does not allow that.
func allowMounts(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	allowed := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		allowed.Cloneflags = syscall.CLONE_NEWUSER
		allowed.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	try := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "none", t.TempDir())
	try.SysProcAttr = allowed
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("cannot mount a file system: %v %s", err, out)
	}
	cmd.SysProcAttr = allowed
	return cmd
}

// runForStderr runs cmd until it exits and returns its standard error.
func runForStderr(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return errs.String()
}
