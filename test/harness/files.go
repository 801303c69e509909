package harness

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3" // registers the driver sqlite3
	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
)

// StorePath returns the path of the default store of a process that runs in dir.
func StorePath(dir string) string { return filepath.Join(dir, "petstore.db") }

// NewStore returns a temporary directory with an empty store.
func NewStore(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	MustRun(t, dir, "migrate", "up")
	return dir
}

// SeededStore returns a temporary directory with a store of count seeded animals.
func SeededStore(t *testing.T, count string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	MustRun(t, dir, "seed", "--count", count, "--orders", "5")
	return dir
}

// OpenSQLite opens an SQLite database. It is closed when the test ends.
func OpenSQLite(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", dsn)
	testkit.Check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// QueryInt returns the number that a query finds in the store in dir, or 0 if there is no store.
func QueryInt(t testing.TB, dir, query string) (n int) {
	t.Helper()
	if _, err := os.Stat(StorePath(dir)); err != nil {
		return 0
	}
	db := OpenSQLite(t, StorePath(dir))
	defer func() { _ = db.Close() }()
	testkit.Check(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

// LockStore begins a write transaction on a store, as another process would. release ends it.
func LockStore(t testing.TB, path string) (release func()) {
	t.Helper()
	db := OpenSQLite(t, "file:"+path+"?_txlock=immediate&_busy_timeout=5000")
	tx, err := db.BeginTx(t.Context(), nil)
	testkit.Check(t, err)
	return func() { _ = tx.Rollback(); _ = db.Close() }
}

// UnreadPipe returns a pipe that no process reads. When it is full, writes block.
func UnreadPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	testkit.Check(t, err)
	t.Cleanup(func() { _ = reader.Close(); _ = writer.Close() })
	return reader, writer
}

// FullPipe returns a pipe that is full: every write blocks.
func FullPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer = UnreadPipe(t)
	raw, err := writer.SyscallConn()
	testkit.Check(t, err)
	for page := make([]byte, os.Getpagesize()); err == nil; {
		testkit.Check(t, raw.Write(func(fd uintptr) bool {
			_, err = unix.Write(int(fd), page)
			return true // the pipe does not block: if it is full, the error is EAGAIN
		}))
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Fatalf("filling the pipe: got %v, want EAGAIN", err)
	}
	return reader, writer
}

// BrokenPipe returns the write end of a pipe whose read end is closed.
func BrokenPipe(t *testing.T) *os.File {
	t.Helper()
	reader, writer := UnreadPipe(t)
	testkit.Check(t, reader.Close())
	return writer
}

// AllowMounts lets cmd mount file systems in its own mount namespace. Without root, this needs user
// namespaces (sysctl kernel.unprivileged_userns_clone=1).
func AllowMounts(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	testkit.Check(t, err)
	args := []string{"unshare", "--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--map-root-user")
	}
	cmd.Path, cmd.Args = unshare, append(append(args, cmd.Path), cmd.Args[1:]...)
	return cmd
}

// CodeBlocks returns the code blocks of a page in a language. If there are none, it fails the test.
func CodeBlocks(t *testing.T, path, language string) (blocks []string) {
	t.Helper()
	for _, block := range strings.Split(ReadFile(t, path), "```"+language+"\n")[1:] {
		code, _, _ := strings.Cut(block, "```")
		blocks = append(blocks, code)
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no code block in %s", path, language)
	}
	return blocks
}

// Shell runs shell commands in dir, with additional environment variables, and returns their standard
// output. If a command fails, it fails the test.
func Shell(t *testing.T, dir, commands string, environ ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environ...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", commands, err, output, &stderr)
	}
	return string(output)
}
