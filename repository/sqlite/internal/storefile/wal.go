package storefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// Errors of File.Check and SaveWAL.
var (
	ErrWALRemoved   = errors.New("the WAL of the store was removed or replaced while it was open")
	ErrWALSaved     = fmt.Errorf("%w: all its commits are in the file of the store now: restart the service", ErrWALRemoved)
	errWALNotSaved  = fmt.Errorf("%w, and its commits could not be written to the file of the store yet: let the service run until they are", ErrWALRemoved)
	ErrWALTruncated = errors.New("the WAL of the store was truncated while it was open: stop the service, then run petstore restore with a backup")
)

// A walCheck notices that the WAL of an open store was removed, replaced or truncated. SQLite
// continues to use a WAL that was removed, with which all its commits would be lost.
type walCheck struct {
	fileIdentity       // the zero value if it is not to be checked
	size         int64 // at the last check
}

// Sizes of the header of the WAL and of a frame in bytes (sqlite.org/fileformat2.html, section 4.1).
const (
	walHeader = 32
	walFrame  = 24 + PageKiB<<10
)

// CheckWALToo makes Check check the WAL, which must exist.
func (c *File) CheckWALToo() (err error) {
	c.wal.fileIdentity, err = newFileIdentity(walPath(c.path))
	return err
}

// WALRemoved reports whether another file, or none, is at the path of the WAL.
func (c *File) WALRemoved() bool { return c.wal.isRemoved() }

// isRemoved reports whether another file, or none, is at the path of the WAL.
func (w *walCheck) isRemoved() bool {
	if w.info == nil {
		return false
	}
	_, err := w.fileIdentity.check()
	return err != nil
}

// check returns ErrWALRemoved, ErrWALTruncated, or the error of a check that could not be made.
func (w *walCheck) check(reader *sql.DB) error {
	if w.info == nil {
		return nil
	}
	info, err := w.fileIdentity.check()
	if err != nil {
		return ErrWALRemoved
	}
	if info.Size() < w.size {
		if err := w.checkLength(reader); err != nil {
			return err
		}
	}
	w.size = info.Size()
	return nil
}

// checkLength returns ErrWALTruncated if the WAL is shorter than its index in the shared memory
// says. SQLite truncates a WAL only after it has begun a new index.
func (w *walCheck) checkLength(reader *sql.DB) error {
	for range 5 { // a process may truncate the WAL between the two
		var busy, frames, written int64
		err := reader.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &frames, &written)
		if err != nil {
			return err
		}
		info, err := os.Stat(w.path)
		if err != nil {
			return ErrWALRemoved
		}
		if frames == 0 || info.Size() >= walHeader+frames*walFrame {
			return nil
		}
	}
	return ErrWALTruncated
}

// SaveWAL writes the commits of a WAL that was removed to the file, while writer has the WAL open,
// and then begins a transaction on it, which keeps the lock: a process that writes now would create
// another WAL, which the connections of this one could not read. It returns ErrWALSaved, or another
// error if there is no transaction.
func (c *File) SaveWAL(ctx context.Context, writer *sql.Conn) error {
	if HasWAL(c.path) { // the shared memory is now that of the WAL of another process
		return errWALNotSaved
	}
	var busy, frames, written int
	err := writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(FULL)").Scan(&busy, &frames, &written)
	if err != nil || busy != 0 || written != frames {
		return errWALNotSaved
	}
	if _, err := writer.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return errWALNotSaved
	}
	c.Fail(ErrWALSaved)
	return ErrWALSaved
}
