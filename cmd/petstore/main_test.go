package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/repository/enginetest"
)

// runAsPetstore is the environment variable that makes the test binary run main. So tests
// can start, signal and kill real processes without building the program.
const runAsPetstore = "TEST_AS_PETSTORE"

func TestMain(m *testing.M) {
	if os.Getenv(runAsPetstore) != "" {
		searchPaths = searchPaths[:1] // not the file of this machine
		main()
	}
	os.Exit(enginetest.WithDatabases(m).Run())
}

// command returns the command that runs petstore in dir.
func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Args[0] = "petstore" // which hints name
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), runAsPetstore+"=1", "PETSTORE_SERVER_ADDRESS=127.0.0.1:0", "PETSTORE_ADMIN_ADDRESS=")
	return cmd
}

// commandAfter returns the command that runs a shell command in dir, and then petstore in
// the same process, with the limits, mounts and redirections of the shell.
func commandAfter(ctx context.Context, dir, shell string, args ...string) *exec.Cmd {
	cmd := command(ctx, dir, args...)
	cmd.Args = append([]string{"sh", "-c", shell + ` && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// runPetstore runs petstore in dir until it exits.
func runPetstore(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t.Context(), dir, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// runOK runs petstore in dir and returns its standard output. It fails the test unless
// petstore exits with 0 and writes nothing to standard error.
func runOK(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := runPetstore(t, dir, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("petstore %v: got code %d, stderr %q, want 0 and nothing", args, code, stderr)
	}
	return stdout
}

// storePath returns the path of the default store of a process that runs in dir.
func storePath(dir string) string { return filepath.Join(dir, "petstore.db") }

// dirWithStore returns a temporary directory with an empty store.
func dirWithStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, stderr, code := runPetstore(t, dir, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	return dir
}

// A syncBuffer is a buffer that is safe for concurrent use.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
