package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"example.com/petstore/internal/engine"
)

var (
	errNoTransaction = errors.New("PostgreSQL has ended the transaction")
	errNotCommitted  = errors.New("PostgreSQL has rolled back instead of committing")
)

// A tx implements engine.Tx on the connection that writes.
type tx struct {
	*sql.Conn
	database *database
	ctx      context.Context // the context of all statements; it ends after txTimeout
	cancel   context.CancelFunc
	state    engine.State
	queued   *pgx.Batch // statements that are sent with the next query or with the commit, nil if there are none
	outdated bool       // see isOutdated
	ended    bool
}

// Begin implements engine.Database. It locks the row of the table store, which each transaction of each process
// locks first. If the connection was lost, it connects again.
func (d *database) Begin(ctx context.Context, ahead func() ([]engine.Query, func())) (engine.Tx, error) {
	whole, cancel := context.WithTimeout(context.Background(), txTimeout)
	beginning, begun := whole, func() {}
	if deadline, limited := ctx.Deadline(); limited {
		beginning, begun = context.WithDeadline(whole, deadline)
	}
	defer begun()
	t, err := d.begin(beginning, ahead)
	if isLost(err) || isOutdated(err) {
		t, err = d.begin(beginning, ahead)
	}
	if err != nil && ahead != nil && failureOf(err) == "" { // a query of ahead has failed: the call that needs it gets its error
		t, err = d.begin(beginning, nil)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	t.ctx, t.cancel = whole, cancel
	return t, nil
}

func (d *database) begin(ctx context.Context, ahead func() ([]engine.Query, func())) (*tx, error) {
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &tx{Conn: conn, database: d, ctx: ctx}
	statements, standbys := &pgx.Batch{}, "unknown" // empty if the server says that commits wait for no standby
	statements.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	statements.Queue("SELECT " + engine.StateColumns + " FROM store FOR UPDATE").QueryRow(func(row pgx.Row) error {
		return row.Scan(t.state.Fields()...)
	})
	if d.requireSynchronous {
		statements.Queue("SHOW synchronous_standby_names").QueryRow(func(row pgx.Row) error { return row.Scan(&standbys) })
	}
	var queries []engine.Query
	done := func() {}
	if ahead != nil {
		queries, done = ahead()
	}
	for _, q := range queries { // each statement reads what is committed when it begins, so these come after the lock
		statements.Queue(q.Statement, q.Args...).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, q.Fields, q.Row)
			return err
		})
	}
	if err := t.run(statements); err != nil {
		t.discard()
		return nil, err
	}
	if err := t.state.CheckSchema(); err != nil {
		return nil, errors.Join(err, t.Rollback())
	}
	if standbys == "" {
		return nil, errors.Join(errNotSynchronous, t.Rollback())
	}
	done()
	return t, nil
}

// State implements engine.Tx.
func (t *tx) State() engine.State { return t.state }

// Queue implements engine.Tx.
func (t *tx) Queue(statement string, args ...any) error {
	if t.ended {
		return sql.ErrConnDone
	}
	if t.queued == nil {
		t.queued = &pgx.Batch{}
	}
	t.queued.Queue(statement, args...)
	return nil
}

// flush sends the queued statements.
func (t *tx) flush() error {
	queued := t.queued
	if t.queued = nil; queued == nil {
		return nil
	}
	return t.run(queued)
}

// ExecContext implements gorm.ConnPool. The statement is cancelled txTimeout after Begin, not when its
// context ends.
func (t *tx) ExecContext(_ context.Context, statement string, args ...any) (sql.Result, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	result, err := t.Conn.ExecContext(t.ctx, statement, args...)
	return result, t.failed(err)
}

// QueryContext implements gorm.ConnPool.
func (t *tx) QueryContext(_ context.Context, statement string, args ...any) (*sql.Rows, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	rows, err := t.Conn.QueryContext(t.ctx, statement, args...)
	return rows, t.failed(err)
}

// QueryRowContext implements gorm.ConnPool. If a queued statement fails, the row has the error that the transaction has
// failed.
func (t *tx) QueryRowContext(_ context.Context, statement string, args ...any) *sql.Row {
	_ = t.flush()
	return t.Conn.QueryRowContext(t.ctx, statement, args...)
}

func (t *tx) Active() error {
	if t.status() == 'I' {
		return errNoTransaction
	}
	return nil
}

func (t *tx) Failed() bool { return t.status() == 'E' }

// status returns the status of the connection: I without a transaction, T in a transaction, E in a
// transaction in which a statement has failed.
func (t *tx) status() (status byte) {
	status = 'I' // also if the connection was lost
	_ = t.raw(func(conn *pgx.Conn) error {
		if !conn.IsClosed() {
			status = conn.PgConn().TxStatus()
		}
		return nil
	})
	return status
}

// Commit implements engine.Tx. An error of a statement is a NotCommittedError if the server has answered with it: then it
// has skipped COMMIT, too.
func (t *tx) Commit() error {
	statements := t.queued
	if t.queued = nil; statements == nil {
		statements = &pgx.Batch{}
	}
	committing := false
	statements.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		committing = true
		if tag.String() != "COMMIT" {
			return errNotCommitted
		}
		return nil
	})
	t.database.notices.reset()
	err := t.run(statements)
	if _, answered := errors.AsType[*pgconn.PgError](err); answered && !committing && t.status() == 'E' {
		return engine.NotCommittedError{Err: errors.Join(err, t.Rollback())}
	}
	// The server sends a warning, for example, when the wait for a synchronous standby was cancelled.
	if err = errors.Join(err, t.database.notices.err()); err != nil {
		t.discard()
		return err
	}
	return t.release()
}

func (t *tx) Rollback() error {
	if t.ended {
		return nil
	}
	t.queued = nil
	statements := &pgx.Batch{}
	statements.Queue("ROLLBACK")
	if err := t.run(statements); err != nil || t.outdated {
		t.discard()
		return err
	}
	return t.release()
}

// release returns the connection to the pool.
func (t *tx) release() error {
	t.end()
	return t.Close()
}

// discard closes the connection.
func (t *tx) discard() {
	t.end()
	discard(t.Conn)
}

func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // makes the pool close it
	_ = conn.Close()
}

func (t *tx) end() {
	t.ended = true
	if t.cancel != nil {
		t.cancel()
	}
}

// run runs statements in one round trip, and one more to prepare those that pgx has not prepared on the connection yet.
func (t *tx) run(statements *pgx.Batch) error {
	return t.failed(t.raw(func(conn *pgx.Conn) error { return conn.SendBatch(t.ctx, statements).Close() }))
}

// failed remembers an error of a statement for Rollback, and returns it.
func (t *tx) failed(err error) error {
	t.outdated = t.outdated || isOutdated(err)
	return err
}

// raw calls fn with the connection while nothing else uses it.
func (t *tx) raw(fn func(*pgx.Conn) error) error {
	return t.Raw(func(driverConn any) error { return fn(pgxConnOf(driverConn)) })
}

// pgxConnOf returns the connection of pgx that a connection of database/sql uses.
func pgxConnOf(driverConn any) *pgx.Conn { return driverConn.(*stdlib.Conn).Conn() }
