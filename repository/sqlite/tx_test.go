//go:build cgo

package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"testing"
	"time"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite"
)

// The commit that overwrites a failed one waits for the lock, like any other commit.
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
	tx, err := database.Begin(t.Context(), nil)
	check(t, err)
	check(t, tx.Rollback())
}

// A host may use the user_version of the file. The commit that overwrites a failed one is written to the WAL.
func TestFailedCommitIsOverwrittenWithTheUserVersionOfTheFile(t *testing.T) {
	t.Parallel()
	database, path := sqlitetest.NewDatabase(t)
	sqlitetest.Execute("PRAGMA user_version = 42")(t, path)
	before := sqlitetest.ReadFile(t, path+"-wal")
	sqlite.FailCommit(database)
	tx, err := database.Begin(t.Context(), nil)
	check(t, err)
	check(t, tx.Rollback())
	if bytes.Equal(before, sqlitetest.ReadFile(t, path+"-wal")) {
		t.Error("got the same WAL, want that the failed commit is overwritten")
	}
	var version int
	err = database.Pools()["readers"].QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version)
	testkit.Equal(t, "the user_version", 42, version, err)
}

// On the connection that writes, a statement after the end would be a transaction of its own.
// endedTransactionCannotBeUsed of storetest tests other kinds of statements.
func TestEndedTransactionRunsNoStatement(t *testing.T) {
	t.Parallel()
	database, _ := sqlitetest.NewDatabase(t)
	for name, end := range map[string]func(engine.Tx) error{
		"commit":   func(tx engine.Tx) error { return tx.Commit() },
		"rollback": engine.Tx.Rollback,
		// The foreign key is checked at the commit, so the commit fails. But SQLite does not end the
		// transaction.
		"failed commit": func(tx engine.Tx) error {
			_, err := tx.ExecContext(t.Context(), `CREATE TABLE others (pet_id INTEGER REFERENCES pets (id) DEFERRABLE INITIALLY DEFERRED);
				INSERT INTO others VALUES (1)`)
			if tx.Commit() == nil {
				return errors.New("the commit succeeded")
			}
			return err
		},
	} {
		tx, err := database.Begin(t.Context(), nil)
		check(t, err)
		check(t, end(tx))
		_, err = tx.ExecContext(t.Context(), "INSERT INTO pets (name, category_id) VALUES ('rex', 7)")
		testkit.WantError(t, "after the "+name, err, sql.ErrConnDone)
		check(t, tx.Rollback())
	}
}

// If a query that Begin runs for the calls fails, the calls read for themselves. But SQLite may also have ended the transaction.
func TestBeginFailsIfAQueryEndsTheTransaction(t *testing.T) {
	t.Parallel()
	for query, ends := range map[string]bool{
		"INSERT INTO pets (id, name, category_id) VALUES (1, NULL, 7)":             false,
		"INSERT OR ROLLBACK INTO pets (id, name, category_id) VALUES (1, NULL, 7)": true, // as after an error of the disk
	} {
		database, _ := sqlitetest.NewDatabase(t)
		tx, err := database.Begin(t.Context(), func() ([]engine.Query, func()) {
			return []engine.Query{{Statement: query}}, func() { t.Error("the queries are done") }
		})
		if ends == (err == nil) {
			t.Fatalf("%s: got %v, want an error: %t", query, err, ends)
		}
		if ends {
			tx, err = database.Begin(t.Context(), nil)
		}
		check(t, err)
		check(t, errors.Join(tx.Active(), tx.Rollback()))
	}
}
