package repository

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

// remedy turns an error of Open into a line that names its cause and what to do.
func remedy(err error, path string) error {
	var engine sqlite3.Error
	errors.As(err, &engine)
	switch engine.Code {
	case sqlite3.ErrNotADB:
		return errors.New("it is not a SQLite database: name another file, or move this one away")
	case sqlite3.ErrCorrupt:
		return errors.New("the database is damaged: restore a backup")
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return errors.New("another process keeps it locked: end that process, then try again")
	}
	switch systemError(err, path) {
	case syscall.EACCES, syscall.EPERM:
		return errors.New("permission denied: let this user read and write the file, its -wal and -shm, and their folder")
	case syscall.EROFS:
		return errors.New("the file system is read-only: mount it for writing, or name a file elsewhere")
	case syscall.EMFILE, syscall.ENFILE:
		return errors.New("too many open files: raise the limit (ulimit -n)")
	case syscall.ENOSPC, syscall.EDQUOT:
		return errors.New("the disk is full: make room")
	case syscall.ENOENT:
		return errors.New("there is no such file or folder: correct the path")
	case syscall.ENOTDIR:
		return errors.New("a part of the path is not a directory: correct the path")
	case syscall.EISDIR:
		return errors.New("there is a folder where the file, its -wal or its -shm belongs: move it away")
	}
	return err
}

// systemError is the error of the operating system behind err, or zero.
func systemError(err error, path string) (errno syscall.Errno) {
	var engine sqlite3.Error
	if !errors.As(err, &engine) {
		errors.As(err, &errno)
		return errno
	}
	if engine.Code == sqlite3.ErrFull {
		return syscall.ENOSPC
	}
	// Where it may not write, SQLite opens a file for reading, and has no error or that of the second attempt.
	if engine.SystemErrno == 0 || engine.SystemErrno == syscall.ENOENT {
		return cmp.Or(writeError(path), engine.SystemErrno)
	}
	return engine.SystemErrno
}

// writeError is why a file, or one that SQLite keeps beside it, cannot be written, or
// zero. It opens none: to close one would end all locks of this process on it.
func writeError(path string) (errno syscall.Errno) {
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return syscall.EISDIR
		}
		if err := unix.Access(file, unix.W_OK); errors.As(err, &errno) && errno != syscall.ENOENT {
			return errno
		}
	}
	errors.As(unix.Access(filepath.Dir(path), unix.W_OK), &errno)
	return errno
}
