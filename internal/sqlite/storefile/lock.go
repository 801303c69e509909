//go:build cgo && unix

package storefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/engine"
)

// Errors of Lock and LockService.
var (
	ErrLocked = errors.New("petstore restore or petstore copy needs it alone: wait for that, then try again")
	ErrServed = errors.New("another service serves it: stop that service, or run several services on PostgreSQL (database.driver: postgres)")
)

// A Lock is a lock on a store. The kernel releases it when the process ends. Each lock has a file beside the
// file of the store, which is removed with the last lock: the file of the store itself must not be closed
// while a connection has it open (sqlite.org/howtocorrupt.html, section 2.2).
type Lock struct{ file *os.File }

// LockShared locks a store at path that this process opens. It waits up to LockTimeout while another process
// has LockAlone, and then returns ErrLocked.
func LockShared(ctx context.Context, path string) (*Lock, error) {
	return lock(ctx, path, "-lock", unix.LOCK_SH, LockTimeout, ErrLocked)
}

// LockAlone locks a store that nobody has open. Otherwise, it returns engine.ErrInUse.
func LockAlone(ctx context.Context, path string) (*Lock, error) {
	return lock(ctx, path, "-lock", unix.LOCK_EX, 0, engine.ErrInUse)
}

// LockService locks a store for the service. It waits while another service has the lock, and then returns
// ErrServed.
func LockService(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	return lock(ctx, path, "-service", unix.LOCK_EX, wait, ErrServed)
}

// Close releases the lock. It may be called for a nil Lock.
func (l *Lock) Close() error {
	if l == nil {
		return nil
	}
	if unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && isAtItsPath(l.file) { // no other process has it
		_ = os.Remove(l.file.Name())
	}
	return l.file.Close()
}

// lock locks the file with a suffix beside the store at path. If it is not free after a time, lock returns
// busy. In a folder that does not exist there is nothing to lock, and lock returns nil.
func lock(ctx context.Context, path, suffix string, how int, wait time.Duration, busy error) (*Lock, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	for start := time.Now(); ; time.Sleep(BusyTimeout) { //nolint:forbidigo // a duration
		file, err := openLockFile(realPath(path), suffix)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, nil //nolint:nilnil // Close accepts nil; whoever opens the store finds the error
		}
		if err != nil {
			return nil, err
		}
		if err = unix.Flock(int(file.Fd()), how|unix.LOCK_NB); err == nil && isAtItsPath(file) {
			return &Lock{file}, nil
		}
		_ = file.Close()
		switch {
		case err == nil: // another process has just removed the file
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case time.Since(start) >= wait:
			return nil, busy
		}
	}
}

// openLockFile opens a file beside a store, or creates it. As SQLite does for the WAL, it gives a new file the
// owner and the mode of the store: root may run a command beside the service of another user.
func openLockFile(store, suffix string) (*os.File, error) {
	for {
		file, err := os.OpenFile(store+suffix, os.O_RDONLY|unix.O_NOFOLLOW, 0) //nolint:gosec // beside the store
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		file, err = os.OpenFile(store+suffix, os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // beside the store
		if errors.Is(err, fs.ErrExist) {
			continue // another process has just created it
		}
		if err != nil {
			return nil, err
		}
		mode := fs.FileMode(0o600) // whatever the umask is
		if info, err := os.Stat(store); err == nil {
			mode = info.Mode().Perm()
			owner, _ := info.Sys().(*syscall.Stat_t)
			_ = file.Chown(int(owner.Uid), int(owner.Gid)) // only root can
		}
		_ = file.Chmod(mode)
		return file, nil
	}
}

// isAtItsPath reports whether an open file was neither removed nor replaced.
func isAtItsPath(file *os.File) bool {
	info, err := file.Stat()
	current, pathErr := os.Stat(file.Name())
	return err == nil && pathErr == nil && os.SameFile(info, current)
}
