package repository

import (
	"context"
	"database/sql"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"
)

// A session runs the statements of a repository: those of one transaction, or the
// reads of all who are in none.
type session struct {
	db    *gorm.DB
	turns *semaphore.Weighted // at the connections that read, nil in a transaction
}

// exec runs a statement that is written out. It spares GORM the work of putting the
// text together once more, a fifth of the time of an insert, unless GORM has plugins:
// they are to see every statement.
func (s session) exec(ctx context.Context, statement string, values ...any) (sql.Result, error) {
	if len(s.db.Plugins) == 0 {
		return s.db.Statement.ConnPool.ExecContext(ctx, statement, values...)
	}
	done := gorm.WithResult()
	err := s.db.WithContext(ctx).Clauses(done).Exec(statement, values...).Error
	return done.Result, err
}

// query is exec for a statement that returns rows.
func (s session) query(ctx context.Context, statement string, values ...any) (*sql.Rows, error) {
	if len(s.db.Plugins) == 0 {
		return s.db.Statement.ConnPool.QueryContext(ctx, statement, values...)
	}
	return s.db.WithContext(ctx).Raw(statement, values...).Rows()
}

// wait returns when it is the caller's turn to read, or with the error of a ctx that
// has ended. Who comes first is served first, which database/sql does not promise.
func (s session) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil || s.turns == nil {
		return err
	}
	if s.turns.TryAcquire(1) { // Acquire would ask for the end of ctx at once
		return nil
	}
	return s.turns.Acquire(ctx, 1)
}

func (s session) done() {
	if s.turns != nil {
		s.turns.Release(1)
	}
}

// A scanner is a row that was read.
type scanner interface{ Scan(into ...any) error }

// read returns the rows of a query, for which it expects to need so much room. It
// scans without reflection: GORM's Find takes half as long again.
//
// A read that has begun is not interrupted. It takes microseconds, because reads are
// by a key and for one page, and to watch meanwhile whether its caller is still there
// would take a third as long again.
func read[T any](ctx context.Context, s session, scan func(scanner) (T, error), room int, query string, values ...any) ([]T, error) {
	if err := s.wait(ctx); err != nil {
		return nil, translate(err)
	}
	defer s.done()
	rows, err := s.query(context.WithoutCancel(ctx), query, values...)
	if err != nil {
		return nil, translate(err)
	}
	defer rows.Close()
	items := make([]T, 0, room)
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, translate(err)
		}
		items = append(items, item)
	}
	return items, translate(rows.Err())
}

// readOne returns the first row of a query, or the error missing where there is none.
func readOne[T any](ctx context.Context, s session, scan func(scanner) (T, error), missing error, query string, values ...any) (one T, err error) {
	found, err := read(ctx, s, scan, 1, query, values...)
	if err != nil {
		return one, err
	}
	if len(found) == 0 {
		return one, missing
	}
	return found[0], nil
}

func scanID(row scanner) (id int64, err error) {
	err = row.Scan(&id)
	return id, err
}
