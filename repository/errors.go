package repository

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/engine"
)

// A dialector is the dialector of an engine. GORM calls its Translate for each error, except the error of a query of Rows or
// Scan: repositories use Find instead of Scan.
type dialector struct {
	gorm.Dialector
	database engine.Database
}

// Translate implements gorm.ErrorTranslator. It returns an ErrUnavailable for an error that the database
// caused. Any other error stays as it is, such as gorm.ErrRecordNotFound. An error that no repository
// expects is a defect.
func (d dialector) Translate(err error) error {
	if _, known := errors.AsType[*domain.Error](err); known || err == nil {
		return err
	}
	if errors.Is(err, context.Canceled) || failureOf(d.database, err) != "" {
		return domain.Unavailable(err)
	}
	return err
}

// translate is Translate for an error that GORM does not return, such as that of a batch.Group.
func translate(db *gorm.DB, err error) error {
	if err == nil {
		return nil
	}
	return db.Dialector.(gorm.ErrorTranslator).Translate(err)
}

// notFoundAs returns notFound if err is a gorm.ErrRecordNotFound, and otherwise err.
func notFoundAs(err, notFound error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return notFound
	}
	return err
}

// errPoolClosed is the error of a pool of database/sql after Close. database/sql does not export it.
var errPoolClosed = func() error {
	pool := sql.OpenDB(struct{ driver.Connector }{})
	_ = pool.Close()
	return pool.Ping()
}()

// failureOf returns what failed in the store. It returns "" for an error that the store did not cause, for
// example if a client disconnected or a rule was violated.
func failureOf(database engine.Database, err error) engine.Failure {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return engine.FailureTimeout
	case errors.Is(err, batch.ErrQueueFull):
		return engine.FailureQueueFull
	case errors.Is(err, batch.ErrClosed), errors.Is(err, sql.ErrConnDone), errors.Is(err, errPoolClosed):
		return engine.FailureClosed
	}
	if _, newer := errors.AsType[engine.NewerSchemaError](err); newer {
		return engine.FailureSchema
	}
	if failure := database.Failure(err); failure != "" {
		return failure
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, domain.ErrUnavailable) {
		return engine.FailureOther
	}
	return ""
}
