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
			stderr := stderrOf(t, mounting(t, prepared(t.Context(), folderWithStore(t), test.prepare, strings.Fields(test.args)...)))
			if !strings.HasPrefix(stderr, "petstore: open the store ") || !strings.HasSuffix(stderr, ": "+test.want+"\n") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr %q, want %q", stderr, test.want)
			}
		})
	}
}

func TestFullDiskIsCountedWhileReadersAreServed(t *testing.T) {
	t.Parallel()
	cmd := prepared(t.Context(), t.TempDir(), `mount -t tmpfs -o size=512k none . && cd "$PWD"`,
		"serve", "--first-key", "--set", "admin.address=127.0.0.1:0")
	s := startCommand(t, mounting(t, cmd))
	admin := adminOf(t, s)
	name, refused := strings.Repeat("x", 200), 0
	for posted := 0; refused < 3 && posted < 10_000; posted++ {
		status, answer, err := s.post(t.Context(), petBody(name))
		switch {
		case err != nil || status != http.StatusCreated && status != http.StatusServiceUnavailable:
			t.Fatal(status, answer, err)
		case status == http.StatusServiceUnavailable:
			refused++
		}
	}
	for _, path := range []string{"/readyz", "/v1/pets"} {
		if status, answer, err := s.do(t.Context(), http.MethodGet, path, ""); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %s %v", path, status, answer, err)
		}
	}
	_, metrics := fetch(t, admin+"/metrics")
	_, count, _ := strings.Cut(metrics, "\n"+`petstore_store_errors_total{kind="full"} `)
	var counted int
	if _, err := fmt.Sscan(count, &counted); err != nil || counted < refused || refused == 0 { // the last use of the key may fail, too
		t.Errorf("%d requests were refused and %d counted, %v", refused, counted, err)
	}
}

func TestOpenNamesTooManyOpenFiles(t *testing.T) {
	t.Parallel()
	folder := folderWithStore(t)
	named := 0
	for limit := 6; ; limit++ { // with fewer a Go program does not even start
		stderr := stderrOf(t, prepared(t.Context(), folder, fmt.Sprint("ulimit -n ", limit), "keys", "list"))
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
	want := "petstore: open the store petstore.db: it is locked by another process: stop that process, then try again\n"
	if code != 1 || stderr != want {
		t.Errorf("code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
}

// mounting lets a command mount file systems that no other process sees, or skips the test.
func mounting(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	allowed := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		allowed.Cloneflags = syscall.CLONE_NEWUSER
		allowed.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	try := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "none", t.TempDir())
	try.SysProcAttr = allowed
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("this machine lets no test mount a file system: %v %s", err, out)
	}
	cmd.SysProcAttr = allowed
	return cmd
}

// stderrOf runs a command to its end.
func stderrOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return errs.String()
}
