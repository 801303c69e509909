package repository

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"example.com/petstore/domain"
)

// The kinds of error that Options.ObserveError is called with.
const (
	KindFull       = "full"        // the disk or the quota is full
	KindBusy       = "busy"        // another process held the lock for too long
	KindConflict   = "conflict"    // a deadlock with another transaction, also after repetitions
	KindConnection = "connection"  // the database server could not be reached
	KindReadOnly   = "read_only"   // the file or its file system is read-only
	KindIO         = "io"          // the disk failed to read or write
	KindCorrupt    = "corrupt"     // the file is damaged
	KindCannotOpen = "cannot_open" // a file could not be opened, as with too many open files
	KindReplaced   = "replaced"    // the file was replaced or removed while it was open
	KindTimeout    = "timeout"     // the deadline of the caller passed
	KindQueueFull  = "queue_full"  // too many transactions were queued
	KindClosed     = "closed"      // the store was closed
	KindOther      = "other"       // none of these
)

// ErrorKinds returns all kinds of error.
func ErrorKinds() []string {
	return []string{
		KindFull, KindBusy, KindConflict, KindConnection, KindReadOnly, KindIO, KindCorrupt,
		KindCannotOpen, KindReplaced, KindTimeout, KindQueueFull, KindClosed, KindOther,
	}
}

// errPoolClosed is the error of database/sql after Close, which it does not export.
var errPoolClosed = func() error {
	pool := sql.OpenDB(struct{ driver.Connector }{})
	_ = pool.Close()
	return pool.Ping()
}()

// errorKind returns the kind of an error, or "" for one that the store did not cause: a
// client disconnected, or a rule was violated.
func errorKind(database Database, err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	case errors.Is(err, errQueueFull):
		return KindQueueFull
	case errors.Is(err, errClosed), errors.Is(err, sql.ErrConnDone), errors.Is(err, errPoolClosed):
		return KindClosed
	}
	if kind := database.ErrorKind(err); kind != "" {
		return kind
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, domain.ErrUnavailable) {
		return KindOther
	}
	return ""
}

// translate returns the error of a statement as one of package domain. It returns an
// unknown error, which is a defect, unchanged.
func translate(database Database, err error) error {
	var known *domain.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errorKind(database, err) != "" {
		return domain.Unavailable(err)
	}
	return err
}
