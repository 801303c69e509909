package repository

import (
	"context"

	"gorm.io/gorm"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/sqltrace"
)

// A transaction is the transaction of the functions of a batch. It implements groupcommit.Repositories.
type transaction struct {
	store *Store
	ahead ahead
	begun *groupcommit.Tx
	db    *gorm.DB // runs its statements in the transaction
	collector
}

func (s *Store) newTransaction() *transaction { return &transaction{store: s, ahead: newAhead()} }

// Ahead implements groupcommit.Repositories.
func (t *transaction) Ahead(calls []port.Reads) ([]engine.Query, func()) {
	return t.ahead.queries(calls)
}

// Begun implements groupcommit.Repositories.
func (t *transaction) Begun(tx *groupcommit.Tx) {
	t.begun, t.collector = tx, newCollector(tx.State())
	// With a Context, Session returns a Statement of its own.
	t.db = t.store.readers.db.Session(&gorm.Session{NewDB: true, Context: context.Background()})
	t.db.Statement.ConnPool = sqltrace.Pool(tx, t.store.tracing)
}

// Commit implements groupcommit.Repositories.
func (t *transaction) Commit(commit func() error) error {
	err := t.deleteExpired()
	if err == nil {
		err = t.write(t.begun, t.store.now())
	}
	if err != nil {
		return engine.NotCommittedError{Err: translate(t.db, err)}
	}
	return t.store.checker.Commit(t.before, t.State, commit)
}

func (t *transaction) repositories() port.Repositories {
	return port.Repositories{
		Pets: pets{t}, Orders: orders{t}, Categories: categories{t}, Changes: changes{t}, Keys: keys{t}, Idempotency: idempotency{t},
		Imports: imports{t},
	}
}

// wrote says that the transaction has written something, so that it is rolled back if its function fails.
func (t *transaction) wrote() { t.begun.Wrote() }

// collects says that a function collects something to write. It returns an error if the transaction has ended.
func (t *transaction) collects() error {
	t.wrote()
	return translate(t.db, t.begun.Active())
}

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
