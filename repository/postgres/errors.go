package postgres

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/engine"
)

func (*database) Failure(err error) engine.Failure { return failureOf(err) }

func failureOf(err error) engine.Failure {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failureOfCode(failure.Code)
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errCopying):
		return engine.FailureBusy
	case errors.Is(err, errReadOnly):
		return engine.FailureReadOnly
	case errors.Is(err, errNotSynchronous):
		return engine.FailureNotSynchronous
	case isConnectionError(err):
		return engine.FailureConnection
	}
	return ""
}

// isOutdated reports whether err may mean that a connection has prepared a statement before a migration changed the types of
// its columns ("cached plan must not change result type"). A new connection prepares it again.
func isOutdated(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failure.Code == "0A000"
}

// failures are the failures by SQLSTATE, or by the first two characters, the class of the SQLSTATE
// (postgresql.org/docs/current/errcodes-appendix.html).
var failures = map[string]engine.Failure{
	"08":    engine.FailureConnection,
	"0A000": engine.FailureConflict,   // see isOutdated
	"25006": engine.FailureReadOnly,   // read_only_sql_transaction
	"25P03": engine.FailureConnection, // idle_in_transaction_session_timeout
	"28":    engine.FailureConnection, // the password was changed
	"3D":    engine.FailureConnection, // the database was dropped
	"40001": engine.FailureConflict,   // serialization_failure
	"40P01": engine.FailureConflict,   // deadlock_detected
	"42501": engine.FailureReadOnly,   // insufficient_privilege
	"53":    engine.FailureOther,      // insufficient resources
	"53100": engine.FailureFull,       // disk_full
	"53300": engine.FailureConnection, // too_many_connections
	"55P03": engine.FailureBusy,       // lock_not_available
	"57014": engine.FailureTimeout,    // query_canceled, by statement_timeout
	"57":    engine.FailureConnection, // the server is stopping or starting
	"58":    engine.FailureIO,
	"XX001": engine.FailureCorrupt, // data_corrupted
	"XX002": engine.FailureCorrupt, // index_corrupted
}

func failureOfCode(code string) engine.Failure {
	if failure, ok := failures[code]; ok {
		return failure
	}
	return failures[code[:min(2, len(code))]]
}

// isConnectionError reports whether err means that a connection could not be made or was lost.
func isConnectionError(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connecting || network || pgconn.SafeToRetry(err) || // such as pgconn's "conn closed"
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}

// isLost reports whether err means that an established connection was lost. A new connection may work.
func isLost(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return !connecting && failureOf(err) == engine.FailureConnection
}

// A connectError is the error of a connection that could not be made. Its text consists of causes that
// contain hosts and ports, but no other part of the DSN. The texts of pgx and of the server quote the user,
// the database and parameters: if the DSN has a mistake, the password may be in any of them.
type connectError struct{ err error }

func (e connectError) Error() string { return strings.Join(slices.Compact(causesOf(e.err)), "; ") }

func (e connectError) Unwrap() error { return e.err }

// causesOf returns the texts of the innermost errors that err wraps. A text may be there twice in
// succession, because hosts with TLS are tried again without it.
func causesOf(err error) (texts []string) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			texts = append(texts, causesOf(err)...)
		}
		return texts
	}
	switch cause := err.(type) { //nolint:errorlint // the type of err itself matters
	case *pgconn.PgError:
		unknown := "the server refused the connection (SQLSTATE " + cause.Code + "): correct the DSN; the log of the server says why"
		return []string{cmp.Or(refusals[cause.Code], unknown)}
	case net.Error: // its text has the address
		return []string{cause.Error()}
	}
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return causesOf(wrapped)
	}
	return []string{err.Error()}
}

// refusals are the causes and remedies if the server refuses a connection, by SQLSTATE.
var refusals = map[string]string{
	"28000": "the server does not let the user of the DSN connect to the database from here: correct the DSN, or pg_hba.conf of the server",
	"28P01": "the password is wrong: correct user and password of the DSN",
	"3D000": "the database does not exist: create it with CREATE DATABASE, or correct the DSN",
	"53300": "the server has too many connections: raise its max_connections, or reduce database.max_open_conns",
	"57P03": "the server is starting or stopping: try again when it has started",
}

// withRemedy returns an error of the database as one line with the cause and, if it is known, the remedy.
func withRemedy(err error) error {
	for _, known := range []error{errReadOnly, errNotSynchronous, errPooled, errCopying, engine.ErrInUse} {
		if errors.Is(err, known) {
			return known
		}
	}
	cause := strings.Join(strings.Fields(err.Error()), " ")
	failure, answered := errors.AsType[*pgconn.PgError](err)
	refused, connecting := errors.AsType[connectError](err)
	switch {
	case answered && connecting:
		return errors.New(refused.Error())
	case answered:
		return errors.New(failure.Message + remedies[failure.Code])
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the server did not respond in time: check host and port of the DSN, or set connect_timeout in it")
	case isConnectionError(err):
		return errors.New("cannot connect: " + cause + ": start the server, or correct the DSN")
	}
	return errors.New(cause)
}

// remedies are added to the message of an error of the server, by SQLSTATE.
var remedies = map[string]string{
	"42501": ": use the owner of the schema and its tables (for a service: run petstore migrate up as the owner, set database.migrate " +
		"to false, and grant the user SELECT, INSERT, UPDATE and DELETE on all tables)",
	"42P01": ": the store is incomplete, restore a backup",
	"55P03": ": another process holds a lock, try again when it has ended",
}

// notices keeps the first warning of a connection.
type notices struct {
	mu      sync.Mutex
	warning *pgconn.Notice // the first one since reset
}

func (n *notices) add(_ *pgconn.PgConn, notice *pgconn.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.warning == nil && notice.SeverityUnlocalized == "WARNING" {
		n.warning = notice
	}
}

func (n *notices) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.warning = nil
}

// err returns the first warning since reset as an error, or nil.
func (n *notices) err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.warning == nil {
		return nil
	}
	return (*pgconn.PgError)(n.warning)
}
