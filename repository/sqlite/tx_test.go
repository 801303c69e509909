//go:build cgo

package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"testing"
	"time"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/storetest"
)

// The commit that overwrites a failed one waits for the lock, as any other does.
func TestBeginAfterFailedCommitWaitsForTheLock(t *testing.T) {
	t.Parallel()
	database, path := sqlitetest.NewDatabase(t)
	other, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate")
	check(t, err)
	defer func() { check(t, other.Close()) }()
	locked, err := other.BeginTx(t.Context(), nil)
	check(t, err)
	sqlite.FailCommit(database)
	time.AfterFunc(300*time.Millisecond, func() { _ = locked.Rollback() })
	tx, err := database.Begin(t.Context())
	check(t, err)
	check(t, tx.Rollback())
}

// A poll overwrites a failed commit, too, but writes nothing to a file that is damaged.
func TestPollOverwritesFailedCommitUnlessTheFileIsDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"intact":    func(string) error { return nil },
		"truncated": func(path string) error { return os.Truncate(path, 8192) },
		"moved":     func(path string) error { return os.Rename(path, path+".moved") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewPath(t)
			database, err := sqlite.New(path).Open(t.Context(), engine.Options{Migrate: true})
			check(t, err)
			t.Cleanup(func() { _ = database.Close() })
			check(t, damage(path))
			before := sqlitetest.ReadFile(t, path+"-wal")
			sqlite.FailCommit(database)
			_, _ = database.PollChanges(t.Context())
			wrote := !bytes.Equal(before, sqlitetest.ReadFile(t, path+"-wal"))
			storetest.Equal(t, "whether the poll has written to the WAL", name == "intact", wrote)
		})
	}
}

// On the connection that writes, a statement after the end would be a transaction of its own. Other
// kinds of statement are in endedTransactionCannotBeUsed of storetest.
func TestEndedTransactionRunsNoStatement(t *testing.T) {
	t.Parallel()
	database, _ := sqlitetest.NewDatabase(t)
	for name, end := range map[string]func(engine.Tx) error{
		"commit":   func(tx engine.Tx) error { return tx.Commit(engine.Changes{}) },
		"rollback": engine.Tx.Rollback,
		// A foreign key that is checked at the commit makes it fail, but SQLite does not end the transaction.
		"failed commit": func(tx engine.Tx) error {
			_, err := tx.ExecContext(t.Context(), `PRAGMA defer_foreign_keys = ON;
				INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (1, 'placed', 1, 1)`)
			if tx.Commit(engine.Changes{}) == nil {
				return errors.New("the commit succeeded")
			}
			return err
		},
	} {
		tx, err := database.Begin(t.Context())
		check(t, err)
		check(t, end(tx))
		_, err = tx.ExecContext(t.Context(), "INSERT INTO pets (name, category_id) VALUES ('rex', 7)")
		storetest.WantError(t, "after the "+name, err, sql.ErrConnDone)
		check(t, tx.Rollback())
	}
}
