package repository

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
)

// unavailable are the results of SQLite by which the store, not the request, is
// at fault: the same request may succeed later (sqlite.org/rescode.html).
var unavailable = []sqlite3.ErrNo{
	sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrFull, sqlite3.ErrReadonly, sqlite3.ErrIoErr,
	sqlite3.ErrCantOpen, sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrInterrupt, sqlite3.ErrPerm,
	sqlite3.ErrAuth, sqlite3.ErrNomem, sqlite3.ErrProtocol,
}

// errPoolClosed is what database/sql answers after Close; it has no name there.
var errPoolClosed = func() error {
	pool := sql.OpenDB(driverless{})
	_ = pool.Close()
	return pool.Ping()
}()

type driverless struct{ driver.Connector }

// translate makes an error of the engine one of the domain: the one place that
// knows the driver's. What it does not know is a defect and stays as it is.
func translate(err error) error {
	var known *domain.Error
	var engine sqlite3.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &engine) && slices.Contains(unavailable, engine.Code),
		errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled),
		errors.Is(err, driver.ErrBadConn),
		errors.Is(err, sql.ErrConnDone),
		errors.Is(err, errPoolClosed):
		return domain.Unavailable(err)
	default:
		return err
	}
}

// isUniqueViolation reports whether a row stands in the way of an inserted one.
func isUniqueViolation(err error) bool {
	var engine sqlite3.Error
	return errors.As(err, &engine) && engine.ExtendedCode == sqlite3.ErrConstraintUnique
}
