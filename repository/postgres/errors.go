package postgres

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
)

// ErrorKind implements repository.Database.
func (*database) ErrorKind(err error) string { return errorKind(err) }

func errorKind(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return kindOf(failure.Code)
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errCopying):
		return repository.KindBusy
	case errors.Is(err, errReadOnly):
		return repository.KindReadOnly
	case errors.Is(err, errNotSynchronous):
		return repository.KindNotSynchronous
	case isConnectionError(err):
		return repository.KindConnection
	}
	return ""
}

// kinds are the kinds of error by SQLSTATE, or by its class, the first two characters
// (postgresql.org/docs/current/errcodes-appendix.html).
var kinds = map[string]string{
	"08":    repository.KindConnection,
	"0A000": repository.KindOther,      // the plan of a statement is older than a migration
	"25006": repository.KindReadOnly,   // read_only_sql_transaction
	"25P03": repository.KindConnection, // idle_in_transaction_session_timeout
	"28":    repository.KindConnection, // the password was changed
	"3D":    repository.KindConnection, // the database was dropped
	"40001": repository.KindConflict,   // serialization_failure
	"40P01": repository.KindConflict,   // deadlock_detected
	"42501": repository.KindReadOnly,   // insufficient_privilege
	"53":    repository.KindOther,      // insufficient resources
	"53100": repository.KindFull,       // disk_full
	"53300": repository.KindConnection, // too_many_connections
	"55P03": repository.KindBusy,       // lock_not_available
	"57014": repository.KindTimeout,    // query_canceled, by statement_timeout
	"57":    repository.KindConnection, // the server is stopping or starting
	"58":    repository.KindIO,
	"XX001": repository.KindCorrupt, // data_corrupted
	"XX002": repository.KindCorrupt, // index_corrupted
}

func kindOf(code string) string {
	if kind, ok := kinds[code]; ok {
		return kind
	}
	return kinds[code[:min(2, len(code))]]
}

// translate returns an ErrInvalid for the error of a text that PostgreSQL cannot store. The
// rules of package domain reject U+0000 and invalid UTF-8 before, unless one is forgotten.
func translate(err error) error {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok && failure.Code == "22021" { // character_not_in_repertoire
		return domain.Invalid(domain.CodeValidationFailed, domain.Violation{Field: "a text", Rule: "must be UTF-8 without U+0000"})
	}
	return err
}

// isConnectionError reports whether err is that of a connection that could not be made or
// was lost.
func isConnectionError(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connecting || network || pgconn.SafeToRetry(err) || // such as pgconn's "conn closed"
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}

// isLost reports whether err is that of a connection that had been made and was lost, so that
// a new one may work.
func isLost(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return !connecting && errorKind(err) == repository.KindConnection
}

// notices collect the warnings of a connection.
type notices struct {
	mu      sync.Mutex
	warning *pgconn.Notice // the first one
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

// err returns the first warning since reset as an error.
func (n *notices) err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.warning == nil {
		return nil
	}
	return (*pgconn.PgError)(n.warning)
}
