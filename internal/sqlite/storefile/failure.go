//go:build cgo && unix

package storefile

import (
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/internal/engine"
)

// Failure returns what failed if SQLite or the file of the store caused err. For any other error it returns
// "".
func Failure(err error) engine.Failure {
	if IsReplaced(err) {
		return engine.FailureReplaced
	}
	failure, _ := errors.AsType[sqlite3.Error](err)
	if failure.SystemErrno == syscall.ENOSPC || failure.SystemErrno == syscall.EDQUOT {
		return engine.FailureFull
	}
	return failures[failure.Code]
}

// failures are the failures by result code of SQLite (sqlite.org/rescode.html).
var failures = map[sqlite3.ErrNo]engine.Failure{
	sqlite3.ErrFull:      engine.FailureFull,
	sqlite3.ErrBusy:      engine.FailureBusy,
	sqlite3.ErrLocked:    engine.FailureBusy,
	sqlite3.ErrProtocol:  engine.FailureBusy,
	sqlite3.ErrReadonly:  engine.FailureReadOnly,
	sqlite3.ErrIoErr:     engine.FailureIO,
	sqlite3.ErrCorrupt:   engine.FailureCorrupt,
	sqlite3.ErrNotADB:    engine.FailureCorrupt,
	sqlite3.ErrCantOpen:  engine.FailureCannotOpen,
	sqlite3.ErrInterrupt: engine.FailureOther,
	sqlite3.ErrPerm:      engine.FailureOther,
	sqlite3.ErrAuth:      engine.FailureOther,
	sqlite3.ErrNomem:     engine.FailureOther,
}
