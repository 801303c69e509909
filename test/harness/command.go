// Package harness builds petstore, runs its commands and servers, and waits for them.
package harness

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
)

// Race reports whether petstore is built with the race detector, as with PETSTORE_TEST_RACE=1.
func Race() bool { return os.Getenv("PETSTORE_TEST_RACE") != "" }

// Program returns the path of petstore. If the code has changed, it builds petstore.
func Program(t testing.TB) string {
	t.Helper()
	path, err := build()
	testkit.Check(t, err)
	return path
}

// build builds petstore in bin/test with the flags of a release, except that it is linked dynamically, so
// that libraries can be loaded before it. A lock makes the processes of go test ./... link it only once: go
// build does nothing if the program matches the code.
var build = sync.OnceValues(func() (path string, err error) {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "../..")
	folder := filepath.Join(root, "bin/test")
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", "nomsgpack,netgo,osusergo,sqlite_omit_load_extension"}
	switch {
	case Race():
		folder = filepath.Join(folder, "race")
		args = append(args, "-race", "-pgo=off")
	case os.Getenv("GOCOVERDIR") != "":
		folder = filepath.Join(folder, "cover")
		args = append(args, "-cover", "-coverpkg=example.com/petstore/...", "-pgo=off")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	path = filepath.Join(folder, "petstore")
	cmd := exec.Command("go", append(args, "-ldflags", "-s -w -X main.version=v0.0.0-test -X main.commit=test", "-o", path, "./cmd/petstore")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_CFLAGS="+cmp.Or(os.Getenv("CGO_CFLAGS"), "-O2 -g0 -DHAVE_FDATASYNC")) // as in the Makefile
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build petstore: %w\n%s", err, output)
	}
	return path, nil
})

// CommandTimeout is how long a command of CommandWithTimeout runs before it is killed.
const CommandTimeout = time.Minute

// Command returns a command that runs petstore in dir, on a free port and without an admin listener.
func Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	program, err := build()
	cmd := exec.CommandContext(ctx, program, args...)
	if err != nil {
		cmd.Err = err // Start and Run return this error
	}
	cmd.Args[0] = "petstore" // hints name the program
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PETSTORE_SERVER_ADDRESS=127.0.0.1:0", "PETSTORE_ADMIN_ADDRESS=")
	return cmd
}

// CommandAfter returns a command that runs a shell command in dir and then petstore in the same process, so
// that the limits, mounts and redirections of the shell apply.
func CommandAfter(ctx context.Context, dir, shell string, args ...string) *exec.Cmd {
	cmd := Command(ctx, dir, args...)
	cmd.Args = append([]string{"sh", "-c", shell + ` && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// CommandWithTimeout is Command with a process that is killed after CommandTimeout.
func CommandWithTimeout(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), CommandTimeout)
	t.Cleanup(cancel)
	return Command(ctx, dir, args...)
}

// Run runs petstore in dir until it exits.
func Run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return RunCommand(t, Command(t.Context(), dir, args...))
}

// RunCommand runs a command until it exits. If the caller has set an output, RunCommand returns nothing for
// it.
func RunCommand(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// MustRun runs petstore in dir and returns its standard output. If petstore does not exit with 0, it fails
// the test.
func MustRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := Run(t, dir, args...)
	if code != 0 {
		t.Fatalf("petstore %v: got code %d, stderr %q, want 0", args, code, stderr)
	}
	return stdout
}

// RunOK runs petstore in dir and returns its standard output. If petstore does not exit with 0, or writes
// to standard error, it fails the test.
func RunOK(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := Run(t, dir, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("petstore %v: got code %d, stderr %q, want 0 and nothing", args, code, stderr)
	}
	return stdout
}

// WantError runs petstore in dir. args are separated by spaces. It expects the exit code 1, no standard
// output, and only the message on standard error.
func WantError(t *testing.T, dir, args, message string) {
	t.Helper()
	stdout, stderr, code := Run(t, dir, strings.Fields(args)...)
	if code != 1 || stdout != "" || stderr != "petstore: "+message+"\n" {
		t.Errorf("petstore %s: got code %d, stdout %q, stderr %q; want 1 and %q", args, code, stdout, stderr, message)
	}
}

// ReadFile returns the text of a file that must be readable.
func ReadFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	testkit.Check(t, err)
	return string(text)
}

// WriteFile writes a file in dir.
func WriteFile(t testing.TB, dir, name, text string) {
	t.Helper()
	testkit.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// StartUntil starts a command. It waits until condition holds for what the command has written to standard
// error, or until the command has ended.
func StartUntil(t *testing.T, cmd *exec.Cmd, description string, condition func(stderr string) bool) (stderr *Buffer, ended <-chan error) {
	t.Helper()
	stderr = &Buffer{}
	cmd.Stderr = stderr
	testkit.Check(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	testkit.WaitUntil(t, description, func() bool { return len(done) > 0 || condition(stderr.String()) })
	return stderr, done
}

// WantSameExports expects the same animals, orders and categories in the default store in dir and in the store in file.
func WantSameExports(t *testing.T, dir, file string) {
	t.Helper()
	for _, records := range []string{"pets", "orders", "categories"} {
		want, _, _ := Run(t, dir, "export", "--format", "csv", "--type", records)
		got, stderr, code := Run(t, dir, "export", "--format", "csv", "--type", records, "--set", "database.dsn="+file)
		if code != 0 || got != want || strings.Count(got, "\n") < 2 {
			t.Errorf("export of %s: got code %d, %d bytes, stderr %q; want the %d bytes of the source", records, code, len(got), stderr, len(want))
		}
	}
}

// Rand returns random numbers for one goroutine. It logs their seed. PETSTORE_TEST_SEED sets the seed.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("PETSTORE_TEST_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("PETSTORE_TEST_SEED=%d repeats the random numbers", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
