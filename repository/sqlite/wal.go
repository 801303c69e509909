package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

var (
	errWALRemoved   = errors.New("the WAL of the store was removed or replaced while it was open")
	errWALSaved     = fmt.Errorf("%w: all its commits are in the file of the store now: restart the service", errWALRemoved)
	errWALNotSaved  = fmt.Errorf("%w, and its commits could not be written to the file of the store yet: let the service run until they are", errWALRemoved)
	errWALTruncated = errors.New("the WAL of the store was truncated while it was open: stop the service, then run petstore restore with a backup")
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
	walFrame  = 24 + pageKiB<<10
)

func newWALCheck(path string) (walCheck, error) {
	identity, err := newFileIdentity(walPath(path))
	return walCheck{fileIdentity: identity}, err
}

// isRemoved reports whether another file, or none, is at the path of the WAL.
func (w *walCheck) isRemoved() bool {
	if w.info == nil {
		return false
	}
	_, err := w.fileIdentity.check()
	return err != nil
}

// check returns errWALRemoved, errWALTruncated, or the error of a check that could not be made.
func (w *walCheck) check(reader *sql.DB) error {
	if w.info == nil {
		return nil
	}
	info, err := w.fileIdentity.check()
	if err != nil {
		return errWALRemoved
	}
	if info.Size() < w.size {
		if err := w.checkLength(reader); err != nil {
			return err
		}
	}
	w.size = info.Size()
	return nil
}

// checkLength returns errWALTruncated if the WAL is shorter than its index in the shared memory
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
			return errWALRemoved
		}
		if frames == 0 || info.Size() >= walHeader+frames*walFrame {
			return nil
		}
	}
	return errWALTruncated
}

// saveWAL writes the commits of a WAL that was removed to the file, while this process has the
// WAL open, and then keeps the lock: a process that writes now would create another WAL, which
// the connections of this one could not read. It returns errWALSaved or errWALNotSaved.
func (d *database) saveWAL(ctx context.Context) error {
	if hasWAL(d.content.path) { // the shared memory is now that of the WAL of another process
		return errWALNotSaved
	}
	var busy, frames, written int
	err := d.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(FULL)").Scan(&busy, &frames, &written)
	if err != nil || busy != 0 || written != frames {
		return errWALNotSaved
	}
	if _, err := d.writer.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return errWALNotSaved
	}
	d.inTx = true
	d.content.fail(errWALSaved)
	return errWALSaved
}
