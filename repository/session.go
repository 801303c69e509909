package repository

import (
	"context"
	"database/sql"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"
)

// A session runs the statements of a repository: within one transaction, or, for
// reads outside any, on the connections that read.
type session struct {
	db        *gorm.DB
	pool      gorm.ConnPool // of db
	tx        Tx            // the same, nil outside a transaction
	database  Database
	report    func(error) error   // called with the error of a read, see Store.report
	readSlots *semaphore.Weighted // one for each connection that reads, nil in a transaction
}

// gorm returns GORM for one statement.
func (s session) gorm(ctx context.Context) *gorm.DB {
	return s.db.Session(&gorm.Session{NewDB: true, Context: ctx})
}

// exec runs a statement through GORM and returns the number of rows that it inserted,
// updated or deleted.
func (s session) exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	done := s.gorm(ctx).Exec(statement, args...)
	return done.RowsAffected, translate(s.database, done.Error)
}

// execDirect is exec on GORM's connection pool, without GORM, for statements with bytes, which
// GORM may expand as a list, and those of a POST (docs/performance.md).
func (s session) execDirect(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	result, err := s.pool.ExecContext(ctx, s.database.Rebind(statement), args...)
	if err != nil {
		return 0, translate(s.database, err)
	}
	return result.RowsAffected()
}

// insert inserts a row within a transaction, as execDirect does, and returns its id.
func (s session) insert(ctx context.Context, statement string, args ...any) (id int64, err error) {
	id, err = s.tx.Insert(ctx, s.database.Rebind(statement), args...)
	return id, translate(s.database, err)
}

// query returns the rows of a query, or those that a statement returns with RETURNING, on
// GORM's connection pool, without GORM (docs/performance.md). expected is the capacity to
// allocate for them.
//
// The wait for a connection ends with ctx, the query itself as Database.ReadContext says.
func query[T any](ctx context.Context, s session, scan func(*row) (T, error), expected int, statement string, args ...any) ([]T, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, s.report(translate(s.database, err))
	}
	defer s.release()
	ctx, cancel := s.database.ReadContext(ctx)
	defer cancel()
	rows, err := s.pool.QueryContext(ctx, s.database.Rebind(statement), args...)
	if err != nil {
		return nil, s.report(translate(s.database, err))
	}
	defer rows.Close()
	items, err := scanAll(rows, scan, expected)
	return items, s.report(translate(s.database, err))
}

// queryEach calls fn with each row of a query, as query returns them, until fn returns an
// error, which it returns, or ctx ends.
func queryEach[T any](ctx context.Context, s session, scan func(*row) (T, error), fn func(T) error, statement string, args ...any) error {
	if err := s.acquire(ctx); err != nil {
		return s.report(translate(s.database, err))
	}
	defer s.release()
	queryCtx, cancel := s.database.ReadContext(ctx)
	defer cancel()
	rows, err := s.pool.QueryContext(queryCtx, s.database.Rebind(statement), args...)
	if err != nil {
		return s.report(translate(s.database, err))
	}
	defer rows.Close()
	var fnErr error // returned as it is: translate could take the error of a file for one of the network
	err = scanEach(ctx, rows, scan, func(item T) error {
		fnErr = fn(item)
		return fnErr
	})
	if err != nil {
		cancel() // on PostgreSQL Close would read the rest of the result
	}
	if fnErr != nil {
		return fnErr
	}
	return s.report(translate(s.database, err))
}

// queryOne returns the row of a query that returns at most one, or sql.ErrNoRows.
func queryOne[T any](ctx context.Context, s session, scan func(*row) (T, error), statement string, args ...any) (one T, err error) {
	found, err := query(ctx, s, scan, 1, statement, args...)
	if err != nil {
		return one, err
	}
	if len(found) == 0 {
		return one, sql.ErrNoRows
	}
	return found[0], nil
}

// acquire waits for a connection that reads. Unlike in database/sql, the first that waits
// is the first that gets one.
func (s session) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil || s.readSlots == nil {
		return err
	}
	if s.readSlots.TryAcquire(1) { // Acquire would start the timer of the request's deadline
		return nil
	}
	return s.readSlots.Acquire(ctx, 1)
}

func (s session) release() {
	if s.readSlots != nil {
		s.readSlots.Release(1)
	}
}
