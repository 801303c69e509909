//go:build cgo && unix

// Package backup copies the file of a SQLite store, verifies the copy, and replaces a store with a copy.
package backup

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"example.com/petstore/internal/sqlite/schema"
	"example.com/petstore/internal/sqlite/storefile"
	"example.com/petstore/repository/sqlite"
)

const (
	// pagesPerStep is the number of pages that one step of a copy copies.
	pagesPerStep = 256
	// stepsPerSync is the number of steps after which the copy is synced. A larger write would delay the
	// commits of the service (docs/decisions.md).
	stepsPerSync = 16
)

var (
	sourcePragmas = url.Values{"mode": {"rw"}, "_query_only": {"on"}, "_busy_timeout": {"5000"}}
	// The copy needs no journal, because an incomplete copy is useless.
	targetPragmas = url.Values{
		"mode": {"rw"}, "_journal_mode": {"OFF"}, "_synchronous": {"OFF"}, "_locking_mode": {"EXCLUSIVE"},
	}
)

// Copy copies the store at path, as it is when Copy begins, to an empty file. No other process may use that
// file. Other processes may write to the store during the copy. Until all pages are copied, SQLite cannot
// shorten the WAL of the store.
//
// Copy verifies the copy, see verify, and returns when the copy is on disk. The copy has no WAL. After each
// MiB, Copy calls progress with the number of KiB that are copied and the total. progress may block, to
// leave time to others.
//
// Copy does not migrate the store. Its error is one line that names the file that could not be read or
// written, and ends with the remedy. After an error, the copy is incomplete.
func Copy(ctx context.Context, path string, to *os.File, progress func(copied, total int)) (Contents, error) {
	contents, err := copyStore(ctx, path, to, progress)
	failure, _ := errors.AsType[*os.PathError](err)
	switch {
	case err == nil || ctx.Err() != nil:
		return contents, err
	case failure != nil && failure.Path == to.Name():
		return contents, fmt.Errorf("write %s: %w", to.Name(), sqlite.New(to.Name()).Remedy(err))
	case errors.Is(err, storefile.ErrNoStore):
		err = errors.New("there is no store in it: name another file")
	}
	return contents, fmt.Errorf("copy %s: %w", path, sqlite.New(path).Remedy(err))
}

func copyStore(ctx context.Context, path string, to *os.File, progress func(copied, total int)) (c Contents, err error) {
	lock, err := storefile.LockShared(ctx, path)
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EROFS) { // a backup may be where nobody can write
		return c, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	source, err := openSource(ctx, path)
	if err != nil {
		return c, err
	}
	err = copyPages(ctx, source, to, progress)
	if err := errors.Join(err, source.Close()); err != nil {
		return c, err
	}
	if err := to.Sync(); err != nil {
		return c, err
	}
	return verify(ctx, to.Name())
}

// openSource checks the store at path and begins a transaction. Without the transaction, a commit of
// another process would restart the copy.
func openSource(ctx context.Context, path string) (*sql.Conn, error) {
	if err := storefile.CheckLinksOfBackup(path); err != nil {
		return nil, err
	}
	if err := schema.CheckFile(ctx, path, false, true); err != nil {
		return nil, err
	}
	source, err := connect(ctx, path, sourcePragmas)
	if err != nil {
		return nil, err
	}
	if _, err := source.ExecContext(ctx, "BEGIN; SELECT 1 FROM sqlite_schema"); err != nil { // a transaction begins with its first read
		return nil, errors.Join(err, source.Close())
	}
	return source, nil
}

// connect opens one connection. Its pool is closed already, so Close closes the connection.
func connect(ctx context.Context, path string, pragmas url.Values) (*sql.Conn, error) {
	pool := storefile.OpenPool(path, pragmas)
	conn, err := pool.Conn(ctx)
	return conn, errors.Join(err, pool.Close())
}

// copyPages copies the pages of a database, and begins a new generation in the copy.
func copyPages(ctx context.Context, source *sql.Conn, to *os.File, progress func(copied, total int)) error {
	target, err := connect(ctx, to.Name(), targetPragmas)
	if err != nil {
		return err
	}
	defer target.Close()
	err = source.Raw(func(s any) error {
		return target.Raw(func(t any) error {
			return runBackup(ctx, s.(*sqlite3.SQLiteConn), t.(*sqlite3.SQLiteConn), to, progress)
		})
	})
	if err == nil {
		_, err = target.ExecContext(ctx, "PRAGMA journal_mode = DELETE") // in WAL mode, the copy could have a WAL
	}
	if err == nil {
		err = storefile.WriteGeneration(ctx, target, 0)
	}
	if err != nil {
		return cmp.Or(checkWritable(to), err)
	}
	return nil
}

// checkWritable writes to the end of the copy and returns the error. SQLite does not say whether the store
// or the copy has failed, nor which error the operating system returned.
func checkWritable(to *os.File) error {
	end, err := to.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = to.WriteAt(make([]byte, storefile.PageKiB<<10), end)
	}
	return err
}

// runBackup copies a database to target step by step (sqlite.org/backup.html). to is the file of target.
func runBackup(ctx context.Context, source, target *sqlite3.SQLiteConn, to *os.File, progress func(copied, total int)) (err error) {
	b, err := target.Backup("main", source, "main")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, b.Close()) }() // Close returns the error of a Step again
	for step, remaining := 1, -1; remaining != 0; step++ {
		if _, err := b.Step(pagesPerStep); err != nil {
			return err
		}
		if b.Remaining() == remaining { // no progress: the store is locked, and Step does not return SQLITE_BUSY
			return sqlite3.Error{Code: sqlite3.ErrBusy}
		}
		remaining = b.Remaining()
		if step%stepsPerSync == 0 {
			if err := to.Sync(); err != nil {
				return err
			}
		}
		progress((b.PageCount()-remaining)*storefile.PageKiB, b.PageCount()*storefile.PageKiB)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
