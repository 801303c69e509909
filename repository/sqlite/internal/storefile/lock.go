//go:build cgo && unix

package storefile

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/folder"
)

// SQLite locks these bytes of a file, from PENDING_BYTE on (os.h in its source). An open connection to a
// database in WAL mode has a shared lock on some of them.
const (
	lockStart  = 0x40000000
	lockLength = 512
)

// Lock locks a file against all connections of other processes, until the returned file is closed. It
// returns engine.ErrInUse if another process has a connection open.
func Lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: lockStart, Len: lockLength})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = engine.ErrInUse
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// CheckNotOpen returns engine.ErrInUse if another process has the store at path open. This process must not
// have it open.
func CheckNotOpen(path string) error {
	file, err := Lock(path)
	switch {
	case err == nil:
		return file.Close()
	case errors.Is(err, engine.ErrInUse):
		return err
	}
	return nil // a missing file is not open, and any other error is found by whoever opens it
}

// ErrReplacing is the error of LockFolder while another process has the lock.
var ErrReplacing = errors.New("another process is opening or restoring it: wait for that, then try again")

// LockFolder locks the folder of a store until unlock is called. The parameter how is unix.LOCK_SH, a shared
// lock, to open the store, and unix.LOCK_EX to replace it. Without the lock, a process that opens the store
// while it is replaced could open the previous file and the WAL of the new one.
//
// LockFolder returns ErrReplacing if it has waited for LockTimeout. If this process cannot read the folder,
// LockFolder locks nothing and returns nil.
func LockFolder(ctx context.Context, path string, how int) (unlock func(), err error) {
	dir, err := os.Open(folder.Of(realPath(path)))
	if err != nil {
		return func() {}, nil //nolint:nilerr // whoever opens the file finds the error
	}
	for start := time.Now(); ; time.Sleep(BusyTimeout) { //nolint:forbidigo // a duration
		err := unix.Flock(int(dir.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = dir.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
		case ctx.Err() != nil:
			err = ctx.Err()
		case time.Since(start) >= LockTimeout:
			err = ErrReplacing
		default:
			continue
		}
		return nil, errors.Join(err, dir.Close())
	}
}
