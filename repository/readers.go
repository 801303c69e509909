package repository

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/engine"
)

// readers are the connections that read. They are also a plugin of GORM that makes each query wait for a connection, until
// the context of the query ends. Unlike in database/sql, the query that has waited longest gets the next connection. A
// query that has started is not interrupted when the client disconnects.
type readers struct {
	gorm.ConnPool
	database engine.Database
	slots    *semaphore.Weighted // one for each connection
	report   func(error) error   // called with the error of each query
}

// A readContext is the context of a query on a connection that reads.
type readContext struct {
	context.Context
	cancel  context.CancelFunc // may interrupt the query
	readers *readers
}

// Name implements gorm.Plugin.
func (*readers) Name() string { return "petstore:readers" }

// Initialize implements gorm.Plugin. Take, Find, Pluck and Count release the connection themselves. A caller of Rows must
// call release, as scan does.
func (*readers) Initialize(db *gorm.DB) error {
	query, row := db.Callback().Query(), db.Callback().Row()
	return errors.Join(
		query.Before("gorm:query").Register("petstore:acquire", acquire),
		query.After("gorm:after_query").Register("petstore:release", release),
		row.Before("gorm:row").Register("petstore:acquire", acquire),
	)
}

// acquire waits for a connection, unless the query is in a transaction.
func acquire(db *gorm.DB) {
	r, ok := db.Statement.ConnPool.(*readers)
	if !ok || db.DryRun { // DryRun is set for a subquery, of which GORM only writes the SQL
		return
	}
	ctx := db.Statement.Context
	if err := r.slots.Acquire(ctx, 1); err != nil {
		_ = db.AddError(r.report(domain.Unavailable(err)))
		return
	}
	ctx, cancel := r.database.ReadContext(ctx)
	db.Statement.Context = &readContext{ctx, cancel, r}
}

// release releases the connection of a query, if it has one, and reports its error.
func release(db *gorm.DB) {
	if ctx, ok := db.Statement.Context.(*readContext); ok {
		ctx.cancel()
		ctx.readers.slots.Release(1)
		_ = ctx.readers.report(db.Error)
	}
}
