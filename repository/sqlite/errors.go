//go:build cgo && unix

package sqlite

import (
	"cmp"
	"errors"
	"os"
	"syscall"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/folder"
	"example.com/petstore/internal/sqlite/storefile"
)

func (*database) Failure(err error) engine.Failure { return storefile.Failure(err) }

// withRemedy returns an error of the database as one line with the cause and, if it is known, the remedy.
func withRemedy(err error, path string) error {
	failure, _ := errors.AsType[sqlite3.Error](err)
	for _, cause := range []error{failure.ExtendedCode, failure.Code, systemError(err, path)} {
		if line, known := remedies[cause]; known {
			return errors.New(line)
		}
	}
	return err
}

// remedies are the messages for errors of SQLite and of the operating system.
var remedies = map[error]string{
	sqlite3.ErrNotADB:           "it is not a SQLite database: name another file, or move this one away",
	sqlite3.ErrCorrupt:          "the database is damaged: restore a backup that is intact",
	sqlite3.ErrBusy:             "it is locked by another process: stop that process, then try again",
	sqlite3.ErrLocked:           "it is locked by another process: stop that process, then try again",
	sqlite3.ErrIoErrGetTempPath: "there is no temporary folder that this user can write: set TMPDIR to one",
	syscall.ENODEV:              "the file system has no shared memory, as some network file systems and FUSE: keep the store on a local disk",
	syscall.EACCES:              "permission denied: let this user read and write the file, its -wal and -shm, and their folder",
	syscall.EPERM:               "permission denied: let this user read and write the file, its -wal and -shm, and their folder",
	syscall.EROFS:               "the file system is read-only: mount it for writing, or name a file elsewhere",
	syscall.EMFILE:              "too many open files: raise the limit (ulimit -n)",
	syscall.ENFILE:              "too many open files: raise the limit (ulimit -n)",
	syscall.ENOSPC:              "the disk is full: free some space",
	syscall.EDQUOT:              "the disk is full: free some space",
	syscall.EFBIG:               "the file would exceed the limit of its size: raise the limit (ulimit -f), or name a file on another file system",
	syscall.ENOENT:              "the file, its -wal or its folder does not exist: correct the path, or try again",
	syscall.ENOTDIR:             "a part of the path is not a directory: correct the path",
	syscall.EISDIR:              "there is a folder where the file, its -wal or its -shm belongs: move it away",
}

// systemError returns the error of the operating system that caused err, or zero.
func systemError(err error, path string) syscall.Errno {
	failure, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		errno, _ := errors.AsType[syscall.Errno](err)
		return errno
	}
	if failure.Code == sqlite3.ErrFull {
		return syscall.ENOSPC
	}
	// If SQLite cannot open a file for writing, it opens it read-only. It then reports no error of the
	// operating system, or the error of the second attempt.
	unclear := failure.SystemErrno == 0 || failure.SystemErrno == syscall.ENOENT
	if unclear && (failure.Code == sqlite3.ErrCantOpen || failure.Code == sqlite3.ErrReadonly) {
		return cmp.Or(accessError(path), failure.SystemErrno)
	}
	return failure.SystemErrno
}

// accessError returns the error that prevents writing to a file, its WAL, its shared memory or its folder,
// or zero. It opens no file, because closing it would release all locks of this process on it.
func accessError(path string) syscall.Errno {
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return syscall.EISDIR
		}
	}
	for _, file := range []string{path, path + "-wal", path + "-shm", folder.Of(path)} {
		if errno, failed := errors.AsType[syscall.Errno](unix.Access(file, unix.W_OK)); failed && errno != syscall.ENOENT {
			return errno
		}
	}
	return 0
}
