package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/repository"
)

var errNoTransaction = errors.New("SQLite has ended the transaction")

// A tx implements repository.Tx.
type tx struct {
	*sql.Tx
	database *database
}

// Active returns an error when SQLite has rolled back the transaction, such as on a full
// disk: the next statements would be committed one by one
// (sqlite.org/lang_transaction.html, section 3).
func (t *tx) Active() error {
	return t.database.writer.Raw(func(conn any) error {
		if conn.(*sqlite3.SQLiteConn).AutoCommit() {
			return errNoTransaction
		}
		return nil
	})
}

// Failed implements repository.Tx. SQLite undoes only the statement that failed.
func (t *tx) Failed() bool { return false }

// Commit implements repository.Tx. It also returns an error when the file has been
// replaced or removed meanwhile.
func (t *tx) Commit(repository.Changes) error {
	if err := t.Tx.Commit(); err != nil {
		return err
	}
	return t.database.Check()
}

// Insert implements repository.Tx, without RETURNING id (docs/performance.md).
func (t *tx) Insert(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := t.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
