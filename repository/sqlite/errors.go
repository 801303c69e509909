package sqlite

import (
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/repository/engine"
)

// Failure implements engine.Database (sqlite.org/rescode.html).
func (*database) Failure(err error) engine.Failure {
	switch {
	case errors.Is(err, errFileReplaced), isForeign(err), errors.Is(err, errWALRemoved), errors.Is(err, errWALTruncated):
		return engine.FailureReplaced
	case errors.Is(err, errLinked):
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
