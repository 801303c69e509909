package storefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"gorm.io/gorm"
)

// Errors of File.Check and File.SaveWAL.
var (
	ErrWALRemoved   = errors.New("the WAL of the store was removed or replaced while it was open")
	ErrWALSaved     = fmt.Errorf("%w: all its commits are in the file of the store now: restart the service", ErrWALRemoved)
	errWALNotSaved  = fmt.Errorf("%w, and its commits could not be written to the file of the store yet: let the service run until they are", ErrWALRemoved)
	ErrWALTruncated = errors.New("the WAL of the store was truncated while it was open: stop the service, then run petstore restore with a backup")
)

// Sizes of the header of the WAL and of a frame in bytes (sqlite.org/fileformat2.html, section 4.1).
const (
	walHeader = 32
	walFrame  = 24 + PageKiB<<10
)

// WatchWAL makes Check check the WAL, which must exist. SQLite continues to use a WAL that was
// removed, with which all its commits would be lost.
func (f *File) WatchWAL() (err error) {
	f.wal, err = newIdentity(walPath(f.path))
	return err
}

// IsWALRemoved reports whether another file, or none, is at the path of the WAL.
func (f *File) IsWALRemoved() bool {
	_, err := f.wal.stat()
	return err != nil
}

func (f *File) checkWAL() error {
	if f.wal.info == nil {
		return nil
	}
	info, err := f.wal.stat()
	if err != nil {
		return ErrWALRemoved
	}
	if info.Size() < f.walSize {
		if err := f.checkWALLength(); err != nil {
			return err
		}
	}
	f.walSize = info.Size()
	return nil
}

// checkWALLength returns ErrWALTruncated if the WAL is shorter than its index in the shared memory
// says. SQLite truncates a WAL only after it has begun a new index.
func (f *File) checkWALLength() error {
	for range 5 { // a process may truncate the WAL between the two
		frames, _, err := checkpoint(context.Background(), f.Reader, "NOOP")
		if err != nil {
			return err
		}
		info, err := os.Stat(f.wal.path)
		if err != nil {
			return ErrWALRemoved
		}
		if frames == 0 || info.Size() >= walHeader+frames*walFrame {
			return nil
		}
	}
	f.err = ErrWALTruncated
	return f.err
}

// SaveWAL writes the commits of a WAL that was removed to the file, by the connection that still has
// it open, and begins a transaction there, which locks the store: a process that writes now would
// create another WAL, which the connections of this one could not read. If it returns ErrWALSaved,
// all later checks do; after another error there is no transaction.
func (f *File) SaveWAL(ctx context.Context, writer *sql.Conn) error {
	if HasWAL(f.path) { // the shared memory is now that of the WAL of another process
		return errWALNotSaved
	}
	if _, complete, err := checkpoint(ctx, writer, "FULL"); err != nil || !complete {
		return errWALNotSaved
	}
	if _, err := writer.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return errWALNotSaved
	}
	f.Fail(ErrWALSaved)
	return ErrWALSaved
}

// checkpoint runs a checkpoint. It returns the number of frames in the WAL, and whether all of them
// are in the file, on disk, which other connections may prevent.
func checkpoint(ctx context.Context, db gorm.ConnPool, mode string) (frames int64, complete bool, err error) {
	var busy, written int64
	err = db.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &frames, &written)
	return frames, busy == 0 && written == frames, err
}
