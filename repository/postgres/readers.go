package postgres

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// readers is the pool of the connections that read. When the server closes a connection, it
// has probably closed all, so the idle ones are closed, too, and the query runs again.
type readers struct {
	*sql.DB
	size int
}

// QueryContext implements gorm.ConnPool.
func (r *readers) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	rows, err := r.DB.QueryContext(ctx, statement, args...)
	if isLost(err) && ctx.Err() == nil {
		r.SetMaxIdleConns(0)
		r.SetMaxIdleConns(r.size)
		return r.DB.QueryContext(ctx, statement, args...)
	}
	return rows, err
}

// Readers implements repository.Database.
func (d *database) Readers() gorm.ConnPool { return d.readers }

// ReadContext implements repository.Database. The deadline of the request ends the query;
// the disconnection of the client does not, because pgx closes the connection of a query
// that is interrupted.
func (d *database) ReadContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	return context.WithCancel(context.WithoutCancel(ctx))
}
