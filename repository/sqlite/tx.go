//go:build cgo && unix

package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/repository/engine"
)

var errNoTransaction = errors.New("SQLite has ended the transaction")

// A tx implements engine.Tx. It is no sql.Tx, which would start a goroutine for each query.
type tx struct {
	*sql.Conn // database.writer, or database.closedConn once the transaction has ended
	database  *database
}

// end makes each method of the connection return sql.ErrConnDone, as on PostgreSQL. On
// database.writer, a statement would now be a transaction of its own.
func (t *tx) end() {
	t.Conn = t.database.closedConn
	t.database.mu.Unlock()
}

// Active returns an error when SQLite has rolled back the transaction, such as on a full
// disk: the next statements would be committed one by one
// (sqlite.org/lang_transaction.html, section 3).
func (t *tx) Active() error {
	return t.Raw(func(conn any) error {
		if conn.(*sqlite3.SQLiteConn).AutoCommit() {
			return errNoTransaction
		}
		return nil
	})
}

// Failed implements engine.Tx. SQLite undoes only the statement that failed.
func (t *tx) Failed() bool { return false }

// Commit implements engine.Tx. It rolls back when the file has been replaced or removed
// meanwhile. After COMMIT, Commit returns an error only if another file is at the path: that file does
// not have the commit.
func (t *tx) Commit(engine.Changes) error {
	if err := t.database.Check(context.Background()); err != nil {
		return errors.Join(err, t.Rollback())
	}
	defer t.end()
	if _, err := t.ExecContext(context.Background(), "COMMIT"); err != nil {
		_, _ = t.ExecContext(context.Background(), "ROLLBACK") // fails if SQLite has rolled back by itself
		t.database.commitFailed = true
		_ = t.database.overwriteFailedCommit() // else Begin and watch try again
		return err
	}
	t.database.watchCommit()
	return t.database.file.Committed()
}

func (t *tx) Rollback() error {
	if t.Conn == t.database.closedConn {
		return nil
	}
	_, err := t.ExecContext(context.Background(), "ROLLBACK")
	t.end()
	return err
}

// overwriteFailedCommit makes a commit that changes nothing, after one that failed. If the WAL could
// not be synced, that one is whole in the WAL: after a crash SQLite would apply it, although its callers
// got an error. The new one is written over its first frame, even if its sync fails, too. Until its
// sync succeeds this process begins no transaction: it might write that first frame again, and be
// killed before it has written over the others. At the beginning of the WAL the new commit is not
// written if the sync of the header fails, but there no other commit is in the WAL, and a checkpoint
// truncates it without a sync.
func (d *database) overwriteFailedCommit() error {
	if !d.commitFailed {
		return nil
	}
	_, err := d.writer.ExecContext(context.Background(), "PRAGMA user_version = 0") // which nothing uses
	if failure, _ := errors.AsType[sqlite3.Error](err); failure.ExtendedCode == sqlite3.ErrIoErrFsync {
		_, _ = d.writer.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	d.commitFailed = err != nil
	return err
}
