//go:build cgo

package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/sqlite/internal/storefile"
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
	tx, err := database.Begin(t.Context())
	check(t, err)
	check(t, tx.Rollback())
}

// If the file was only moved away, and no other file is at its path, the commit succeeds. The hook moves a file
// after the check that precedes COMMIT.
func TestCommitFailsWhenAnotherFileIsAtThePath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(path string) error
		want   error
	}{
		"replaced":   {func(path string) error { return os.Rename(path+".other", path) }, storefile.ErrReplaced},
		"moved away": {func(path string) error { return os.Rename(path, path+".moved") }, nil},
	} {
		path := sqlitetest.NewStoreWithPet(t)
		sqlitetest.CopyStore(t, path, path+".other")
		database := sqlitetest.OpenDatabase(t, path)
		tx, err := database.Begin(t.Context())
		check(t, err)
		_, err = tx.ExecContext(t.Context(), "UPDATE pets SET name = 'Tom'")
		check(t, err)
		check(t, tx.(interface {
			Raw(f func(conn any) error) error
		}).Raw(func(conn any) error {
			conn.(*sqlite3.SQLiteConn).RegisterCommitHook(func() int { err = c.change(path); return 0 })
			return nil
		}))
		if commit := tx.Commit(engine.Changes{}); err != nil || !errors.Is(commit, c.want) {
			t.Errorf("%s: %v, Commit returned %v, want %v", name, err, commit, c.want)
		}
	}
}

// On the connection that writes, a statement after the end would be a transaction of its own.
// endedTransactionCannotBeUsed of storetest tests other kinds of statements.
func TestEndedTransactionRunsNoStatement(t *testing.T) {
	t.Parallel()
	database, _ := sqlitetest.NewDatabase(t)
	for name, end := range map[string]func(engine.Tx) error{
		"commit":   func(tx engine.Tx) error { return tx.Commit(engine.Changes{}) },
		"rollback": engine.Tx.Rollback,
		// The foreign key is checked at the commit, so the commit fails. But SQLite does not end the
		// transaction.
		"failed commit": func(tx engine.Tx) error {
			_, err := tx.ExecContext(t.Context(), `CREATE TABLE others (pet_id INTEGER REFERENCES pets (id) DEFERRABLE INITIALLY DEFERRED);
				INSERT INTO others VALUES (1)`)
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
		testkit.WantError(t, "after the "+name, err, sql.ErrConnDone)
		check(t, tx.Rollback())
	}
}
