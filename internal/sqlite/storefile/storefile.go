//go:build cgo && unix

// Package storefile checks the file of a SQLite store and its WAL. SQLite trusts both. The package has a
// file for each part of the checks:
//
//   - storefile.go: when the store is opened, a WAL whose file is missing, found by the names. The database
//     of another program, found by the application_id.
//   - links.go: when it is opened, a second name of the file, found by the number of links. By that name,
//     SQLite would use another WAL.
//   - generation.go: when it is opened, a WAL that belongs to another file, and a file that was overwritten
//     while it was open, found by random numbers in both. A file that was emptied, and a WAL that was removed,
//     found by the shared memory that is left.
//   - file.go: while it is open, a file or a WAL that was moved, removed or replaced, found by its inode.
//   - lock.go: another process that has the store open, serves it or replaces it.
//
// sql.go opens connections.
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

	"gorm.io/gorm"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/folder"
)

// applicationID is the application_id of a store. The first migration sets it.
const applicationID = 1885697139

// Errors of Check and Identify.
var (
	ErrNotRegular   = errors.New("it is not a regular file: name the file that holds the store")
	ErrNoStore      = errors.New("there is no store in it yet: run petstore migrate up")
	ErrOtherProgram = errors.New("it is the database of another program: use another file")
)

// checkPath returns an error for a DSN of SQLite that is not the path of a file.
func checkPath(path string) error {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return errors.New("the DSN of a SQLite store is the path of a file, not :memory: nor a URI")
	}
	return nil
}

// Check returns an error for a file that must not be opened as a store. It does not write to the file. If
// create is set, Check creates a missing file.
func Check(ctx context.Context, path string, create bool) error {
	info, err := statOrCreate(path, create)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	return CheckWAL(ctx, path)
}

// Identify returns nil for a store, and ErrNoStore for a database in which a store can be created. For any
// other database it returns ErrOtherProgram or an engine.OtherTableError. It runs one statement, so that it
// sees all or nothing of a store that another process creates.
func Identify(ctx context.Context, pool *sql.DB) error {
	var id int
	var table string // a table with a name of a store, except the table that goose creates first
	err := pool.QueryRowContext(ctx, `SELECT application_id, (SELECT coalesce(min(name), '') FROM sqlite_schema
		WHERE lower(name) IN `+engine.Tables+` AND name <> 'petstore_schema_version') FROM pragma_application_id`).Scan(&id, &table)
	switch {
	case err != nil || id == applicationID:
		return err
	case id != 0:
		return ErrOtherProgram
	case table != "":
		return engine.OtherTableError(table)
	}
	return ErrNoStore
}

// OtherTables returns the names of the tables of other programs, as in engine.Schema.
func OtherTables(ctx context.Context, pool *sql.DB) (tables string, err error) {
	err = pool.QueryRowContext(ctx, `SELECT coalesce(group_concat(name, ', '), '') FROM (SELECT name FROM sqlite_schema WHERE type = 'table'
		AND name NOT GLOB 'sqlite_*' AND name <> 'goose_db_version' AND lower(name) NOT IN `+engine.Tables+` ORDER BY name)`).Scan(&tables)
	return tables, err
}

// ReadTables reads pets through an index, and the table unfinished_copy, so that a damaged file is noticed.
func ReadTables(ctx context.Context, db gorm.ConnPool) error {
	var rows int
	const query = "SELECT (SELECT count(*) FROM (SELECT id FROM pets LIMIT 1)) + (SELECT count(*) FROM unfinished_copy)"
	return db.QueryRowContext(ctx, query).Scan(&rows)
}

// walPath returns the path of the WAL of a file.
func walPath(path string) string { return realPath(path) + "-wal" }

// shmPath returns the path of the shared memory of the connections to a file. The last connection removes
// it.
func shmPath(path string) string { return realPath(path) + "-shm" }

// realPath returns the path of the file that a symbolic link leads to. SQLite uses that path.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// createMutex is locked while a file is created. Closing a file releases all locks of this process on it,
// so no connection may have the file open then (sqlite.org/howtocorrupt.html, section 2.2).
var createMutex sync.Mutex

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

// checkNoWAL rejects a missing file whose WAL or shared memory exists. The WAL may have commits, and SQLite
// would remove it when the file is created. Beside the shared memory, checkSharedMemory would take a new file
// for an emptied one.
func checkNoWAL(path string) error {
	var left []string
	for _, other := range []string{path + "-wal", path + "-shm"} {
		if _, err := os.Stat(other); err == nil {
			left = append(left, other)
		}
	}
	if _, err := os.Stat(path); err == nil || len(left) == 0 { // checked last, because another process may create all three meanwhile
		return nil
	}
	names := strings.Join(left, " and ")
	return fmt.Errorf("there is no such file, only %[1]s: put the file back, run petstore restore with a backup, or move %[1]s away", names)
}

// createFile creates an empty file that only its owner can read and write, whatever the umask is. SQLite
// gives the WAL and the shared memory the same mode. If another process has just created the file,
// createFile returns nil.
func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the file
	switch {
	case err == nil:
		return errors.Join(file.Chmod(0o600), file.Close())
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s: create it", folder.Of(path))
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return errors.New("it is a symbolic link to a file that does not exist: correct the link")
	}
	return nil
}
