package repository

import (
	"context"
	"database/sql"
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
)

// The kinds of error that Options.ObserveError is called with.
const (
	KindFull       = "full"        // the disk or the quota is full
	KindBusy       = "busy"        // another process kept the store locked for too long
	KindReadOnly   = "read_only"   // the file or its file system may not be written
	KindIO         = "io"          // the disk failed to read or write
	KindCorrupt    = "corrupt"     // the file is damaged
	KindCannotOpen = "cannot_open" // a file could not be opened, as with too many open files
	KindReplaced   = "replaced"    // the file was replaced or removed while it was open
	KindTimeout    = "timeout"     // the deadline of the caller passed
	KindQueueFull  = "queue_full"  // too many writes waited
	KindClosed     = "closed"      // the store was closed
	KindOther      = "other"       // none of these
)

// ErrorKinds returns all kinds of error.
func ErrorKinds() []string {
	return []string{
		KindFull, KindBusy, KindReadOnly, KindIO, KindCorrupt, KindCannotOpen,
		KindReplaced, KindTimeout, KindQueueFull, KindClosed, KindOther,
	}
}

// An errorObserver is Options.ObserveError, nil for none.
type errorObserver func(kind string)

// observe calls the observer for an error of the store, and returns the error.
func (o errorObserver) observe(err error) error {
	if o == nil || err == nil {
		return err
	}
	if kind := kindOf(err); kind != "" {
		o(kind)
	}
	return err
}

// kindOf returns the kind of an error, or nothing when the store is not at fault: the
// caller has left, or a rule was broken.
func kindOf(err error) string {
	var engine sqlite3.Error
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	case errors.Is(err, errMoved):
		return KindReplaced
	case errors.Is(err, errQueueFull):
		return KindQueueFull
	case errors.Is(err, errClosed), errors.Is(err, sql.ErrConnDone), errors.Is(err, errPoolClosed):
		return KindClosed
	case errors.As(err, &engine):
		return kindOfEngine(engine)
	case errors.Is(err, domain.ErrUnavailable):
		return KindOther
	}
	return ""
}

// kindOfEngine returns the kind of an error of SQLite (sqlite.org/rescode.html).
func kindOfEngine(err sqlite3.Error) string {
	if err.SystemErrno == syscall.ENOSPC || err.SystemErrno == syscall.EDQUOT {
		return KindFull
	}
	switch err.Code {
	case sqlite3.ErrFull:
		return KindFull
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return KindBusy
	case sqlite3.ErrReadonly:
		return KindReadOnly
	case sqlite3.ErrIoErr:
		return KindIO
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return KindCorrupt
	case sqlite3.ErrCantOpen:
		return KindCannotOpen
	}
	return KindOther
}
