//go:build cgo && unix

package storefile

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/repository/folder"
)

// Errors of File.Check and File.SaveWAL.
var (
	ErrWALRemoved  error = ChangedError("the WAL of the store was removed or replaced while it was open")
	ErrWALSaved          = fmt.Errorf("%w: all its commits are in the file of the store now: restart the service", ErrWALRemoved)
	ErrWALNotSaved       = fmt.Errorf("%w, and its commits could not be written to the file of the store yet: let the service run "+
		"until they are", ErrWALRemoved)
	ErrOtherWAL           = fmt.Errorf("%w; move away the other file that is at its path", ErrWALNotSaved)
	ErrWALTruncated error = ChangedError("the WAL of the store was truncated while it was open: " +
		"stop the service, then run petstore restore with a backup")
)

// The sizes in bytes of the header of the WAL and of the header of a frame. A page follows each header of a
// frame (sqlite.org/fileformat2.html, section 4.1).
const (
	walHeader   = 32
	frameHeader = 24
)

// WatchWAL makes Check also check the WAL, which must exist. SQLite continues to use a WAL that was
// removed, and all commits in it would be lost.
func (f *File) WatchWAL() (err error) {
	if f.shm, err = newIdentity(shmPath(f.path)); err == nil {
		f.wal, err = newIdentity(walPath(f.path))
	}
	return err
}

// Committed records the size of the WAL after a commit. It returns an error if another file is at the path
// of the store. If no file is there, it returns nil: the file may have been moved away with its WAL.
func (f *File) Committed() error {
	if info, err := f.wal.stat(); err == nil {
		f.mu.Lock()
		f.walSize = max(f.walSize, info.Size()) // it is smaller only if the WAL was truncated
		f.mu.Unlock()
	}
	if info, err := os.Stat(f.path); err == nil && !os.SameFile(info, f.info) {
		return ErrReplaced
	}
	return nil
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

// checkWALLength returns ErrWALTruncated if the WAL is shorter than its index in the shared memory says.
// SQLite itself truncates a WAL only after it has begun a new index.
func (f *File) checkWALLength() error {
	for range 5 { // SQLite may truncate the WAL between the reads of both
		frames, _, err := checkpoint(context.Background(), f.Reader, "NOOP")
		if err != nil {
			return err
		}
		var pageSize int64
		if err := f.Reader.QueryRowContext(context.Background(), "PRAGMA page_size").Scan(&pageSize); err != nil {
			return err
		}
		info, err := os.Stat(f.wal.path)
		if err != nil {
			return ErrWALRemoved
		}
		if frames == 0 || info.Size() >= walHeader+frames*(frameHeader+pageSize) {
			return nil
		}
	}
	f.err = ErrWALTruncated
	return f.err
}

// DataVersion returns a number that changes when another connection than writer commits.
func DataVersion(ctx context.Context, writer *sql.Conn) (version int64, err error) {
	err = writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
	return version, err
}

// SaveWAL writes the commits of a removed WAL to the file. Meanwhile writer has a transaction, which locks
// the store. Without the lock, another process could write now, and would create another WAL that this
// process could not read. version is the DataVersion before the last Check that returned nil.
//
// If SaveWAL returns ErrWALSaved, all later checks return it too, and the transaction stays open. After any
// other error there is no transaction.
func (f *File) SaveWAL(ctx context.Context, writer *sql.Conn, version int64) error {
	if _, err := writer.ExecContext(ctx, "BEGIN IMMEDIATE"); err == nil {
		if f.moveOtherWAL(ctx, writer, version) {
			if _, complete, err := checkpoint(ctx, f.Reader, "PASSIVE"); err == nil && complete {
				f.Fail(ErrWALSaved)
				return ErrWALSaved
			}
		}
		_, _ = writer.ExecContext(ctx, "ROLLBACK")
	}
	if HasWAL(f.path) {
		return ErrOtherWAL
	}
	return ErrWALNotSaved
}

// moveOtherWAL renames another file at the path of the WAL, because SQLite would apply it to the file of
// the store after a restart. It reports false if that fails, or if another process may have committed to
// the other WAL. A process may have done so if the shared memory is another one, or if the DataVersion is
// not version.
func (f *File) moveOtherWAL(ctx context.Context, writer *sql.Conn, version int64) bool {
	if !HasWAL(f.path) {
		return true
	}
	if _, err := f.shm.stat(); err != nil {
		return false
	}
	if now, err := DataVersion(ctx, writer); err != nil || now != version {
		return false
	}
	if os.Rename(f.wal.path, f.wal.path+ReplacedSuffix(time.Now())) != nil { //nolint:forbidigo // part of a name
		return false
	}
	return folder.Sync(f.wal.path) == nil // a power failure must not bring it back
}

// checkpoint runs a checkpoint. It returns the number of frames in the WAL, and whether all of them are now
// in the file and on disk. Other connections may prevent that.
func checkpoint(ctx context.Context, db gorm.ConnPool, mode string) (frames int64, complete bool, err error) {
	var busy, written int64
	err = db.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &frames, &written)
	return frames, busy == 0 && written == frames, err
}
