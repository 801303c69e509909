package repository

import (
	"context"
	"database/sql"
	"errors"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"
)

// A session runs the statements of a repository: those of one transaction, or the
// reads of all who are in none.
type session struct {
	db    *gorm.DB
	turns *semaphore.Weighted // at the connections that read, nil in a transaction
	// errors observes those of reads. It is nil in a transaction, which fails as a whole.
	errors errorObserver
}

// exec runs a statement that is written out. It spares GORM the work of putting the
// text together once more, a fifth of the time of an insert, unless GORM has plugins:
// they are to see it.
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

// read returns the rows of a query, most of them at most, or all when that is zero. It
// makes them without reflection: GORM's Find takes twice as long.
//
// A read that has begun is not interrupted. It takes microseconds, because reads are
// by a key and for one page, and to watch meanwhile whether its caller is still there
// would take a third as long again.
func read[T any](ctx context.Context, s session, of func(*row) T, most int, query string, values ...any) ([]T, error) {
	if err := s.wait(ctx); err != nil {
		return nil, s.errors.observe(translate(err))
	}
	defer s.done()
	items := make([]T, 0, most)
	err := s.each(context.WithoutCancel(ctx), query, values, func(r *row) error {
		items = append(items, of(r))
		if r.err == nil && len(items) == most {
			return errEnough // and not one step more, to be told that there is none
		}
		return r.err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, s.errors.observe(translate(err))
	}
	return items, nil
}

var errEnough = errors.New("no more rows are wanted")

// each hands the rows of a query to a function, until that returns an error.
func (s session) each(ctx context.Context, query string, values []any, do func(*row) error) error {
	if pool, ok := s.db.Statement.ConnPool.(*sql.DB); ok && len(s.db.Plugins) == 0 {
		return eachOfDriver(ctx, pool, query, values, do)
	}
	rows, err := s.query(ctx, query, values...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return eachOf(rows, do)
}

// readOne returns the first row of a query, or the error missing where there is none.
func readOne[T any](ctx context.Context, s session, of func(*row) T, missing error, query string, values ...any) (one T, err error) {
	found, err := read(ctx, s, of, 1, query, values...)
	if err != nil {
		return one, err
	}
	if len(found) == 0 {
		return one, missing
	}
	return found[0], nil
}

func idOf(r *row) int64 { return r.int(0) }
