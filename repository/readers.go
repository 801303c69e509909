package repository

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/repository/engine"
)

// readers are the connections that read. As a plugin of GORM they let each query wait for one,
// until the end of its context: the first that waits gets the first one, unlike in database/sql,
// and a query that has started is not interrupted when the client disconnects.
type readers struct {
	gorm.ConnPool
	database engine.Database
	slots    *semaphore.Weighted // one for each connection
	report   func(error) error   // called with the error of each query
}

// A readContext is the context of a query on a connection that reads. The query must call
// release at its end.
type readContext struct {
	context.Context
	cancel  context.CancelFunc // may interrupt the query
	readers *readers
}

// acquire waits for a connection. On nil readers, as in a transaction, there is none to wait for.
func (r *readers) acquire(ctx context.Context) (*readContext, error) {
	if r == nil {
		return &readContext{ctx, func() {}, nil}, nil
	}
	err := ctx.Err()
	if err == nil && !r.slots.TryAcquire(1) { // Acquire would start the timer of the request's deadline
		err = r.slots.Acquire(ctx, 1)
	}
	if err != nil {
		return nil, r.report(domain.Unavailable(err))
	}
	ctx, cancel := r.database.ReadContext(ctx)
	return &readContext{ctx, cancel, r}, nil
}

// reported reports an error and returns it. Nil readers report none: InTx reports the error of the
// transaction.
func (r *readers) reported(err error) error {
	if r == nil {
		return err
	}
	return r.report(err)
}

func (c *readContext) release() {
	c.cancel()
	if c.readers != nil {
		c.readers.slots.Release(1)
	}
}

// Name implements gorm.Plugin.
func (*readers) Name() string { return "petstore:readers" }

// Initialize implements gorm.Plugin. The callbacks are those of Take, Find, Pluck and Count; each
// waits for a connection itself, which it needs until all rows are read.
func (*readers) Initialize(db *gorm.DB) error {
	query := db.Callback().Query()
	return errors.Join(
		query.Before("gorm:query").Register("petstore:acquire", acquireForQuery),
		query.After("gorm:after_query").Register("petstore:release", releaseAfterQuery),
	)
}

func acquireForQuery(db *gorm.DB) {
	r, ok := db.Statement.ConnPool.(*readers)
	if !ok { // in a transaction
		return
	}
	ctx, err := r.acquire(db.Statement.Context)
	if err != nil {
		_ = db.AddError(err)
		return
	}
	db.Statement.Context = ctx
}

func releaseAfterQuery(db *gorm.DB) {
	if ctx, ok := db.Statement.Context.(*readContext); ok {
		ctx.release()
		_ = ctx.readers.report(db.Error)
	}
}
