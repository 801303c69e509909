package repository

import (
	"context"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/port"
)

// A session runs the statements of a repository: in a transaction, or on the connections that read.
type session struct {
	db      *gorm.DB
	readers *readers     // nil in a transaction
	tx      *transaction // nil outside a transaction
}

// read calls fn with GORM, in the transaction or on a connection that reads. fn must use the connection only until it
// returns.
func (s session) read(ctx context.Context, fn func(db *gorm.DB) error) error {
	if s.readers == nil {
		return fn(s.db.WithContext(ctx))
	}
	return s.readers.read(ctx, s.db, fn)
}

// search is read for a search.
func (s session) search(ctx context.Context, fn func(db *gorm.DB) error) error {
	if s.readers == nil {
		return fn(s.db.WithContext(ctx))
	}
	return s.readers.readSearch(ctx, s.db, fn)
}

// A transaction is the transaction of the functions and the creations of a batch.
type transaction struct {
	session
	collector
	begun          *groupcommit.Tx
	claimClock     *claimClock
	found          foundClaims // the claims that Begin has read ahead
	deletedExpired bool        // the transaction has deleted expired claims
}

func newTransaction(db *gorm.DB, tx *groupcommit.Tx, clock *claimClock, found foundClaims) *transaction {
	t := &transaction{
		session: session{db: db}, collector: newCollector(tx.State()), begun: tx, claimClock: clock, found: found,
	}
	t.tx = t
	return t
}

func (t *transaction) pets() pets {
	return pets{reader[domain.Pet]{session: t.session, table: petTable, window: defaultSearchWindow}}
}

func (t *transaction) repositories() port.Repositories {
	s := t.session
	return port.Repositories{
		Pets: t.pets(), Orders: orders{reader[domain.Order]{session: s, table: orderTable}}, Categories: categories{s},
		Changes: changes{s}, Keys: keys{s}, Idempotency: idempotency{t}, Imports: imports{s},
	}
}

// wrote says that the transaction has written something, so that it is rolled back if its function fails.
func (t *transaction) wrote() { t.begun.Wrote() }

// queue runs or queues the statement that build makes, see engine.Tx.Queue.
func (t *transaction) queue(ctx context.Context, build func(*gorm.DB) *gorm.DB) error {
	built := build(t.db.Session(&gorm.Session{DryRun: true, Context: context.WithoutCancel(ctx)}))
	if built.Error != nil {
		return built.Error
	}
	err := t.begun.Queue(built.Statement.SQL.String(), built.Statement.Vars...)
	if err == nil {
		t.wrote()
	}
	return translate(t.db, err)
}

// changedOne reports whether a statement changed one row.
func (t *transaction) changedOne(done *gorm.DB) (bool, error) {
	if done.RowsAffected > 0 {
		t.wrote()
	}
	return done.RowsAffected == 1, done.Error
}

// finish writes what was collected before the commit.
func (t *transaction) finish(now func() time.Time) error {
	return translate(t.db, t.write(t.begun, now()))
}

// withStatus limits a query to the records with a status. If the status is empty, it returns the query unchanged.
func withStatus[S ~string](query *gorm.DB, status S) *gorm.DB {
	if status == "" {
		return query
	}
	return query.Where("status = ?", string(status))
}

// scan scans each row of a query into fields and calls fn. If fn returns an error or the context of the query ends, scan
// stops and returns the error.
func scan(query *gorm.DB, fields []any, fn func() error) error {
	ctx := query.Statement.Context
	rows, err := query.Rows()
	if err != nil {
		return translate(query, err)
	}
	defer rows.Close()
	for rows.Next() {
		err := rows.Scan(fields...)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return query.AddError(err)
		}
		if err := fn(); err != nil {
			return err
		}
	}
	return query.AddError(rows.Err())
}
