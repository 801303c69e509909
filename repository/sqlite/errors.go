package sqlite

import (
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/repository"
)

// ErrorKind implements repository.Database (sqlite.org/rescode.html).
func (*database) ErrorKind(err error) string {
	switch {
	case errors.Is(err, errFileReplaced), isForeign(err), errors.Is(err, errWALRemoved), errors.Is(err, errWALTruncated):
		return repository.KindReplaced
	case errors.Is(err, errLinked):
		return repository.KindOther
	}
	failure, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		return ""
	}
	if failure.SystemErrno == syscall.ENOSPC || failure.SystemErrno == syscall.EDQUOT {
		return repository.KindFull
	}
	switch failure.Code {
	case sqlite3.ErrFull:
		return repository.KindFull
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return repository.KindBusy
	case sqlite3.ErrReadonly:
		return repository.KindReadOnly
	case sqlite3.ErrIoErr:
		return repository.KindIO
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return repository.KindCorrupt
	case sqlite3.ErrCantOpen:
		return repository.KindCannotOpen
	case sqlite3.ErrInterrupt, sqlite3.ErrPerm, sqlite3.ErrAuth, sqlite3.ErrNomem:
		return repository.KindOther
	}
	return ""
}

// isForeign reports whether checkWAL has found another file than that of the WAL or of the
// shared memory.
func isForeign(err error) bool {
	return errors.Is(err, errForeignWAL) || errors.Is(err, errFileEmptied)
}

func isBusy(err error) bool {
	failure, ok := errors.AsType[sqlite3.Error](err)
	return ok && failure.Code == sqlite3.ErrBusy
}

func isFailedSync(err error) bool {
	failure, ok := errors.AsType[sqlite3.Error](err)
	return ok && failure.ExtendedCode == sqlite3.ErrIoErrFsync
}

func isCorrupt(err error) bool {
	failure, ok := errors.AsType[sqlite3.Error](err)
	return ok && failure.Code == sqlite3.ErrCorrupt
}

func isNotADatabase(err error) bool {
	failure, ok := errors.AsType[sqlite3.Error](err)
	return ok && failure.Code == sqlite3.ErrNotADB
}
