// Package storefile checks the file of a SQLite store and its WAL, because SQLite trusts both.
// What is detected, and how:
//
//   - storefile.go: a missing file whose WAL is left, a path that is no file, the database of
//     another program - by the names of the files, stat(2) and the application_id
//   - links.go: a file with a second name, by which another WAL would be used - by the number of links
//   - identity.go: an open file that was replaced or removed - by device and inode
//   - generation.go: a file and a WAL that do not belong together, an emptied file - by a random
//     number that both contain, and by its size beside a WAL or shared memory
//   - content.go: an open file that was overwritten or truncated - by reading it again when it was
//     modified
//   - wal.go: a WAL of an open file that was removed, replaced or truncated - by its inode, and by
//     its size compared with its index; saves its commits if it was removed
//   - lock.go: another process that has the file open, or is replacing it - by locks
//
// sql.go has what opening a file by database/sql needs.
package storefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// applicationID is the application_id of a store, see migrations.
const applicationID = 1885697139

// Check returns an error for a file that SQLite must not open as a store, without writing to it.
// It creates the file of a new store if create.
func Check(ctx context.Context, path string, create bool) error {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return errors.New("the DSN of a SQLite store is the path of a file, not :memory: nor a URI")
	}
	info, err := statOrCreate(path, create)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	if err := checkLinks(path, info); err != nil {
		return err
	}
	return CheckWAL(ctx, path, nil)
}

// Errors of Check and Identify.
var (
	ErrNotRegular   = errors.New("it is not a regular file: name the file that holds the store")
	ErrNoStore      = errors.New("there is no store in it yet: run petstore migrate up")
	ErrOtherProgram = errors.New("it is the database of another program: use another file")
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

// statOrCreate returns the FileInfo of a store. It creates a missing file if create.
func statOrCreate(path string, create bool) (fs.FileInfo, error) {
	createMutex.Lock()
	defer createMutex.Unlock()
	info, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	if err := checkNoWAL(path); err != nil {
		return nil, err
	}
	if !create {
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

// Identify returns nil for the database of a store, ErrNoStore for an empty one, and
// ErrOtherProgram for any other. It runs one statement, so that it sees all or nothing of a store
// that is being created.
func Identify(ctx context.Context, pool *sql.DB) error {
	var id, tables int // without those of the migrations
	err := pool.QueryRowContext(ctx, `SELECT application_id, (SELECT count(*) FROM sqlite_schema
		WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%') FROM pragma_application_id`).Scan(&id, &tables)
	switch {
	case err != nil || id == applicationID:
		return err
	case id != 0 || tables != 0:
		return ErrOtherProgram
	}
	return ErrNoStore
}
