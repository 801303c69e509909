package sqlite

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// Failure implements engine.Database.
func (*database) Failure(err error) engine.Failure { return Failure(err) }

// Failure returns what failed if SQLite or the file caused err (sqlite.org/rescode.html), otherwise "".
func Failure(err error) engine.Failure {
	switch {
	case errors.Is(err, storefile.ErrReplaced), storefile.IsForeign(err), errors.Is(err, storefile.ErrWALRemoved), errors.Is(err, storefile.ErrWALTruncated):
		return engine.FailureReplaced
	case errors.Is(err, storefile.ErrLinked):
		return engine.FailureOther
	}
	failure, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		return ""
	}
	if failure.SystemErrno == syscall.ENOSPC || failure.SystemErrno == syscall.EDQUOT {
		return engine.FailureFull
	}
	switch failure.Code {
	case sqlite3.ErrFull:
		return engine.FailureFull
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return engine.FailureBusy
	case sqlite3.ErrReadonly:
		return engine.FailureReadOnly
	case sqlite3.ErrIoErr:
		return engine.FailureIO
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return engine.FailureCorrupt
	case sqlite3.ErrCantOpen:
		return engine.FailureCannotOpen
	case sqlite3.ErrInterrupt, sqlite3.ErrPerm, sqlite3.ErrAuth, sqlite3.ErrNomem:
		return engine.FailureOther
	}
	return ""
}

func isFailedSync(err error) bool {
	failure, ok := errors.AsType[sqlite3.Error](err)
	return ok && failure.ExtendedCode == sqlite3.ErrIoErrFsync
}

// withRemedy returns an error of open as one line with the cause and the remedy.
func withRemedy(err error, path string) error {
	var failure sqlite3.Error
	errors.As(err, &failure)
	switch failure.Code {
	case sqlite3.ErrNotADB:
		return errors.New("it is not a SQLite database: name another file, or move this one away")
	case sqlite3.ErrCorrupt:
		return errors.New("the database is damaged: restore a backup that is intact")
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return errors.New("it is locked by another process: stop that process, then try again")
	}
	if line, known := remedies[systemError(err, path)]; known {
		return errors.New(line)
	}
	return err
}

// remedies are the messages for errors of the operating system.
var remedies = map[syscall.Errno]string{
	syscall.EACCES:  "permission denied: let this user read and write the file, its -wal and -shm, and their folder",
	syscall.EPERM:   "permission denied: let this user read and write the file, its -wal and -shm, and their folder",
	syscall.EROFS:   "the file system is read-only: mount it for writing, or name a file elsewhere",
	syscall.EMFILE:  "too many open files: raise the limit (ulimit -n)",
	syscall.ENFILE:  "too many open files: raise the limit (ulimit -n)",
	syscall.ENOSPC:  "the disk is full: free some space",
	syscall.EDQUOT:  "the disk is full: free some space",
	syscall.ENOENT:  "there is no such file or folder: correct the path",
	syscall.ENOTDIR: "a part of the path is not a directory: correct the path",
	syscall.EISDIR:  "there is a folder where the file, its -wal or its -shm belongs: move it away",
}

// systemError returns the error of the operating system that caused err, or zero.
func systemError(err error, path string) (errno syscall.Errno) {
	var failure sqlite3.Error
	if !errors.As(err, &failure) {
		errors.As(err, &errno)
		return errno
	}
	if failure.Code == sqlite3.ErrFull {
		return syscall.ENOSPC
	}
	// SQLite opens a file that it cannot write for reading, and then reports no error, or
	// that of the second attempt.
	unclear := failure.SystemErrno == 0 || failure.SystemErrno == syscall.ENOENT
	if unclear && (failure.Code == sqlite3.ErrCantOpen || failure.Code == sqlite3.ErrReadonly) {
		return cmp.Or(accessError(path), failure.SystemErrno)
	}
	return failure.SystemErrno
}

// accessError returns the error of writing a file, its WAL, its shared memory or its folder,
// or zero. It opens no file: closing one releases all locks of this process on it.
func accessError(path string) syscall.Errno {
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return syscall.EISDIR
		}
	}
	for _, file := range []string{path, path + "-wal", path + "-shm", filepath.Dir(path)} {
		var errno syscall.Errno
		if errors.As(unix.Access(file, unix.W_OK), &errno) && errno != syscall.ENOENT {
			return errno
		}
	}
	return 0
}
