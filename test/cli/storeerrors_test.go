package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	harness.WantError(t, dir, "keys list", "open the store petstore.db: it is locked by another process: stop that process, then try again")
}

func TestErrorNamesMissingPermissions(t *testing.T) {
	t.Parallel()
	const ofStore = "open the store petstore.db: permission denied: let this user read and write the file, its -wal and -shm, and their folder"
	dir := harness.NewStore(t)
	for _, test := range []struct {
		mode       os.FileMode // of the store
		args, want string
	}{
		{0o000, "keys create --name n", ofStore},
		{0o444, "keys create --name n", ofStore},
		{0o600, "backup locked/monday.db", "permission denied: let this user write to the folder locked, or name a file in another folder"},
	} {
		harness.Check(t, errors.Join(os.MkdirAll(filepath.Join(dir, "locked"), 0o555), os.Chmod(harness.StorePath(dir), test.mode)))
		cmd := harness.Command(t.Context(), dir, strings.Fields(test.args)...)
		if os.Getuid() == 0 { // which may open any file, unless it has lost that capability
			cmd.Args = append([]string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search", cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/usr/bin/setpriv"
		}
		if _, stderr, code := harness.RunCommand(t, cmd); code != 1 || stderr != "petstore: "+test.want+"\n" {
			t.Errorf("%s, mode %v: got code %d, stderr %q; want 1 and %q", test.args, test.mode, code, stderr, test.want)
		}
	}
}
