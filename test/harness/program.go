// Package harness builds petstore, runs its commands and servers, and waits for what they do.
package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Race reports whether petstore is built with the race detector: with PETSTORE_TEST_RACE=1.
func Race() bool { return os.Getenv("PETSTORE_TEST_RACE") != "" }

// Program returns the path of petstore, which it builds if it has changed.
func Program(t testing.TB) string {
	t.Helper()
	path, err := build()
	Check(t, err)
	return path
}

// build builds petstore in bin/test, with the flags of a release. But it is linked dynamically, so
// that libraries can be loaded before it. The lock makes the processes of go test ./... link it
// once: go build does nothing if the program is that of the code.
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
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build petstore: %w\n%s", err, output)
	}
	return path, nil
})
