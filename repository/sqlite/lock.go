package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SQLite locks these bytes of a file, PENDING_BYTE and all that follow (os.h of its source).
// A connection to a database in WAL mode has a shared lock on some of them while it is open.
const (
	lockStart  = 0x40000000
	lockLength = 512
)

// lockFile locks a file against all connections of other processes until the result is
// closed. It returns errInUse if one is open.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: lockStart, Len: lockLength})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = errInUse
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
