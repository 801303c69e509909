//go:build cgo && unix

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/internal/engine"
)

var errNoTransaction = errors.New("SQLite has ended the transaction")

// A tx implements engine.Tx. It is not a sql.Tx, because database/sql starts a goroutine for each query of a
// sql.Tx.
type tx struct {
	*sql.Conn // database.writer, or database.closedConn once the transaction has ended
	database  *database
	state     engine.State
}

// State implements engine.Tx.
func (t *tx) State() engine.State { return t.state }

// readAhead runs the queries of Begin. It returns an error if SQLite has ended the transaction, as it does when the disk cannot
// be read.
func (t *tx) readAhead(queries []engine.Query, done func()) error {
	for _, q := range queries {
		if err := t.readRows(q); err != nil {
			if t.Active() == nil {
				return nil
			}
			t.unlocks()
			return err
		}
	}
	done()
	return nil
}

func (t *tx) readRows(q engine.Query) error {
	rows, err := t.QueryContext(context.Background(), q.Statement, q.Args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	for rows.Next() {
		err := rows.Scan(q.Fields...)
		if err == nil {
			err = q.Row()
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// Queue implements engine.Tx. It runs the statement at once.
func (t *tx) Queue(statement string, args ...any) error {
	_, err := t.ExecContext(context.Background(), statement, args...)
	return err
}

// end replaces the connection with a closed one, so that each method returns sql.ErrConnDone, as on
// PostgreSQL. On database.writer, a statement would now be a transaction of its own.
func (t *tx) end() {
	t.Conn = t.database.closedConn
	t.database.mu.Unlock()
}

// unlocks says that the next statement gives the lock back. COMMIT does so before it writes a checkpoint, which may take long:
// meanwhile other processes may commit, and Poll cannot look.
func (t *tx) unlocks() {
	now := time.Now() //nolint:forbidigo // compared with an age
	t.database.seen.Store(&seen{version: t.database.seen.Load().version, state: t.state, at: now})
}

// Active implements engine.Tx. SQLite rolls back a transaction by itself when the disk is full, for
// example. It would then commit each further statement on its own (sqlite.org/lang_transaction.html,
// section 3).
func (t *tx) Active() error {
	return t.Raw(func(conn any) error {
		if conn.(*sqlite3.SQLiteConn).AutoCommit() {
			return errNoTransaction
		}
		return nil
	})
}

// Failed implements engine.Tx. It returns false, because SQLite undoes only the statement that failed.
func (t *tx) Failed() bool { return false }

// Commit implements engine.Tx. If the file or its WAL was moved, removed or replaced, Commit rolls back. It
// does not check them again after COMMIT: what happens to them meanwhile may as well happen just afterwards.
func (t *tx) Commit() error {
	if err := t.database.Check(context.Background()); err != nil {
		return errors.Join(err, t.Rollback())
	}
	defer t.end()
	t.unlocks()
	if _, err := t.ExecContext(context.Background(), "COMMIT"); err != nil {
		_, _ = t.ExecContext(context.Background(), "ROLLBACK") // fails if SQLite has rolled back by itself
		t.database.commitFailed = true
		_ = t.database.overwriteFailedCommit() // if it fails, Begin tries again
		return err
	}
	return nil
}

func (t *tx) Rollback() error {
	if t.Conn == t.database.closedConn {
		return nil
	}
	t.unlocks()
	_, err := t.ExecContext(context.Background(), "ROLLBACK")
	t.end()
	return err
}

// overwriteFailedCommit makes a commit that changes nothing, after a commit that failed. If only the sync
// failed, the failed commit is complete in the WAL: after a crash SQLite would apply it, although its
// callers got an error. The new commit overwrites the first frame of the failed one, even if the sync fails
// again.
//
// Until that sync succeeds, this process begins no transaction. A transaction could write the same first
// frame again. If the process were killed before the other frames are overwritten, the failed commit would
// be complete again.
//
// If the failed commit is the first in the WAL, SQLite syncs the header before it writes the new commit. If
// that sync fails, SQLite does not write the new commit. But then the WAL has no other commit: a checkpoint
// has nothing to write to the file, and truncates the WAL without a sync.
func (d *database) overwriteFailedCommit() error {
	if !d.commitFailed {
		return nil
	}
	err := d.rewriteUserVersion()
	if failure, _ := errors.AsType[sqlite3.Error](err); failure.ExtendedCode == sqlite3.ErrIoErrFsync {
		_, _ = d.writer.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	d.commitFailed = err != nil
	return err
}

// rewriteUserVersion commits the user_version that the file has, which may be that of a host. SQLite writes
// its page although nothing changes.
func (d *database) rewriteUserVersion() error {
	ctx := context.Background()
	if _, err := d.writer.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var version int32
	err := d.writer.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	if err == nil {
		_, err = d.writer.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d; COMMIT", version))
	}
	if err != nil {
		_, _ = d.writer.ExecContext(ctx, "ROLLBACK") // fails if SQLite has rolled back by itself
	}
	return err
}
