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
	KindReplaced   = "replaced"    // the file was replaced, removed, truncated or overwritten while it was open
	KindTimeout    = "timeout"     // the deadline of the caller passed
	KindQueueFull  = "queue_full"  // too many transactions were queued
	KindClosed     = "closed"      // the store was closed
	KindOther      = "other"       // none of these

	KindNotSynchronous = "not_synchronous" // a commit would not wait for a standby, see Options.RequireSynchronous
)

// ErrorKinds returns all kinds of error.
func ErrorKinds() []string {
	return []string{
		KindFull, KindBusy, KindConflict, KindConnection, KindReadOnly, KindIO, KindCorrupt,
		KindCannotOpen, KindReplaced, KindTimeout, KindQueueFull, KindClosed, KindNotSynchronous, KindOther,
	}
}

// reasons are the kinds of error in words.
var reasons = map[string]string{
	KindFull:           "its disk is full",
	KindBusy:           "another process holds its lock",
	KindConflict:       "it is locked",
	KindConnection:     "its server cannot be reached",
	KindReadOnly:       "it is read-only, or has no primary server",
	KindIO:             "its disk failed",
	KindCorrupt:        "it is damaged",
	KindCannotOpen:     "its file cannot be opened",
	KindReplaced:       "its file was replaced, removed or damaged",
	KindTimeout:        "it did not respond in time",
	KindQueueFull:      "it has too many requests",
	KindClosed:         "it is closed",
	KindNotSynchronous: "its server has no synchronous standby, which database.require_synchronous demands",
	KindOther:          "see the log",
}

// withReason returns an error of the database with its reason as the message.
func withReason(database Database, err error) error {
	reason, ok := reasons[errorKind(database, err)]
	if !ok {
		return err
	}
	return &domain.Error{
		Kind: domain.ErrUnavailable, Code: domain.CodeUnavailable,
		Message: "the store is not available: " + reason, Cause: err,
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
