package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"example.com/petstore/repository/engine"
)

// applicationID is the application_id of a store, see migrations.
const applicationID = 1885697139

// checkFile rejects a file that is not a store, without writing to it, and creates the
// file of a new store.
func checkFile(ctx context.Context, path string, o engine.Options) error {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return errors.New("the DSN of a SQLite store is the path of a file, not :memory: nor a URI")
	}
	info, err := statOrCreate(path, o)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	if err := checkLinks(path, info); err != nil {
		return err
	}
	if err := checkWAL(ctx, path, nil); err != nil {
		return err
	}
	return checkApplicationID(ctx, path, o)
}

var (
	errNotRegular   = errors.New("it is not a regular file: name the file that holds the store")
	errNoStore      = errors.New("there is no store in it yet: run petstore migrate up")
	errOtherProgram = errors.New("it is the database of another program: use another file")
)

// walPath returns the path of the WAL of a file.
func walPath(path string) string { return realPath(path) + "-wal" }

// shmPath returns the path of the shared memory of the connections to a file, which the last
// one removes when it is closed.
func shmPath(path string) string { return realPath(path) + "-shm" }

// realPath returns the path of the file that a symbolic link leads to, as SQLite uses it.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// createMutex is locked while a file is created: closing a file releases all locks of this
// process on it, so no connection may have it open then (sqlite.org/howtocorrupt.html,
// section 2.2).
var createMutex sync.Mutex

// statOrCreate returns the FileInfo of a store. It creates a missing file if o allows that.
func statOrCreate(path string, o engine.Options) (fs.FileInfo, error) {
	createMutex.Lock()
	defer createMutex.Unlock()
	info, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	if err := checkNoWAL(path); err != nil {
		return nil, err
	}
	if o.MustExist || !o.Migrate {
		return nil, errors.New("there is no such file: correct the path, or run petstore migrate up")
	}
	if err := createFile(path); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// checkNoWAL rejects a missing file whose WAL or shared memory exists: the WAL may hold commits,
// and SQLite removes it with the creation of a new file; wasEmptied would report a new file
// beside the shared memory.
func checkNoWAL(path string) error {
	var left []string
	for _, other := range []string{path + "-wal", path + "-shm"} {
		if _, err := os.Stat(other); err == nil {
			left = append(left, other)
		}
	}
	if _, err := os.Stat(path); err == nil || len(left) == 0 { // after the others: another process may create all meanwhile
		return nil
	}
	names := strings.Join(left, " and ")
	return fmt.Errorf("there is no such file, only %[1]s: put the file back, run petstore restore with a backup, or move %[1]s away", names)
}

// createFile creates an empty file that only its owner can read and write, whatever the
// umask; SQLite gives the WAL and the shared memory the same mode. It returns nil if
// another process has created the file meanwhile.
func createFile(path string) error {
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrExist) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return errors.New("it is a symbolic link to a file that does not exist: correct the link")
		}
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(0o600), file.Close())
}

func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	if err == nil && info.IsDir() {
		return nil
	}
	return fmt.Errorf("there is no folder %s: create it", folder)
}

// checkApplicationID rejects the database of another program. Its connection does not have the
// pragmas of the writer, which would switch that database to WAL mode. It reads a WAL without
// writing it to the file, which may be damaged.
func checkApplicationID(ctx context.Context, path string, o engine.Options) (err error) {
	pragmas := url.Values{"mode": {"rw"}, "_busy_timeout": {"5000"}}
	if hasWAL(path) {
		pragmas = readerPragmas
	}
	pool, err := sql.Open("sqlite3", dsn(path, pragmas))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	return checkIdentity(ctx, pool, o)
}

// checkIdentity rejects a database that is not a store, or has a schema that o does not allow.
func checkIdentity(ctx context.Context, pool *sql.DB, o engine.Options) error {
	id, tables, err := readIdentity(ctx, pool)
	switch {
	case err != nil:
		return err
	case id == applicationID:
		return checkSchema(ctx, pool, o.Migrate && !o.Exclusive)
	case id != 0 || tables != 0:
		return errOtherProgram
	case o.MustExist || !o.Migrate:
		return errNoStore
	}
	return nil
}

// readIdentity returns the application_id of a database and the number of its tables,
// without those of the migrations. It runs one statement, so that it sees all or nothing
// of a store that is being created.
func readIdentity(ctx context.Context, pool *sql.DB) (id, tables int, err error) {
	err = pool.QueryRowContext(ctx, `SELECT application_id, (SELECT count(*) FROM sqlite_schema
		WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%') FROM pragma_application_id`).Scan(&id, &tables)
	return id, tables, err
}

// A fileIdentity is the file that was opened at a path. SQLite continues to use a file
// that was moved away, but opens its WAL and new connections by the path: commits are then
// lost, or damage the file that is now at the path (sqlite.org/howtocorrupt.html, section
// 4.1).
type fileIdentity struct {
	path string
	info os.FileInfo
}

var errFileReplaced = errors.New("the file of the store was replaced, removed, truncated or overwritten while it was open: stop the service, then run petstore restore with a backup")

func newFileIdentity(path string) (fileIdentity, error) {
	info, err := os.Stat(path)
	return fileIdentity{path, info}, err
}

// check returns the FileInfo of the file, or an error when another file, or none, is at the
// path.
func (f fileIdentity) check() (os.FileInfo, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFileReplaced, err)
	}
	if !os.SameFile(info, f.info) {
		return nil, errFileReplaced
	}
	return info, nil
}

// checkNoOther returns an error when another file is at the path. If none is there, the file
// may have been moved away, with all that it holds.
func (f fileIdentity) checkNoOther() error {
	if info, err := os.Stat(f.path); err == nil && !os.SameFile(info, f.info) {
		return errFileReplaced
	}
	return nil
}
