package ha_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/test/harness"
)

// startProcess starts a program in a folder, as the user postgres if the tests run as root.
// It ends with the tests: at their end it is killed, and if they are killed it gets SIGTERM.
func startProcess(t *testing.T, folder string, output io.Writer, program string, args ...string) *harness.Server {
	t.Helper()
	options := []string{"--pdeathsig", "TERM"}
	if os.Geteuid() == 0 {
		options = append(options, "--reuid", "postgres", "--regid", "postgres", "--clear-groups")
	}
	cmd := exec.Command("setpriv", slices.Concat(options, []string{program}, args)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, output, output
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin", "LC_ALL=C.UTF-8", "HOME=" + folder}
	return harness.Launch(t, cmd, "")
}

// newFolder creates a folder for the processes, which is removed at the end of the test.
func newFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "petstore-ha-") //nolint:usetesting // the path of a Unix socket is short
	harness.Check(t, err)
	t.Cleanup(func() { harness.Check(t, os.RemoveAll(folder)) })
	chown(t, folder)
	return folder
}

// chown gives a folder to the user of the processes.
func chown(t *testing.T, folder string) {
	t.Helper()
	if os.Geteuid() == 0 {
		harness.Check(t, exec.CommandContext(t.Context(), "chown", "postgres:postgres", folder).Run())
	}
}

// processesIn returns the ids of the processes whose working directory is folder, as the
// data directory is for those of PostgreSQL.
func processesIn(folder string) (ids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // fails only for a bad pattern
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == folder {
			id, _ := strconv.Atoi(strings.Split(link, "/")[2])
			ids = append(ids, id)
		}
	}
	return ids
}

// signalAll sends a signal to processes. One that has exited is no error.
func signalAll(signal syscall.Signal, ids []int) {
	for _, id := range ids {
		_ = syscall.Kill(id, signal)
	}
}

// writeFile writes the file of docs/deploy to folder with other values, each of which must
// occur in it.
func writeFile(t *testing.T, folder, name, source string, values ...string) (path string) {
	t.Helper()
	text := harness.ReadFile(t, "../../docs/deploy/"+source)
	for i := 0; i < len(values); i += 2 {
		if !strings.Contains(text, values[i]) {
			t.Fatalf("%s does not contain %q", source, values[i])
		}
	}
	path = filepath.Join(folder, name)
	harness.Check(t, os.WriteFile(path, []byte(strings.NewReplacer(values...).Replace(text)), 0o644))
	return path
}
