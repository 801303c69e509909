package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
	"example.com/petstore/repository/sqlite"
)

func TestErrorOfTheStoreNamesCauseAndRemedy(t *testing.T) {
	t.Parallel()
	busy := domain.Unavailable(fmt.Errorf("begin: %w", sqlite3.Error{Code: sqlite3.ErrBusy}))
	const locked = "the store pets.db: it is locked by another process: stop that process, then try again"
	for _, test := range []struct {
		err  error
		want string
	}{
		{busy, locked},
		{fmt.Errorf("keys: %w", busy), locked},
		{interruptedOr(t.Context(), busy, "added 1 of 2 animals"), locked + ": added 1 of 2 animals"},
		{domain.Unavailable(errors.New("unknown")), "the store pets.db: unknown"},
		{domain.Unavailable(context.Canceled), "interrupted"},
		{interruptedOr(t.Context(), errors.New("write: failed"), "incomplete"), "write: failed: incomplete"},
		{domain.ImportInProgress(), domain.ImportInProgress().Error()},
	} {
		if got := storeError(test.err, sqlite.New("pets.db")); got.Error() != test.want {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
	if err := storeError(nil, sqlite.New("pets.db")); err != nil {
		t.Errorf("got %v for no error", err)
	}
}

// openSQLite opens an SQLite database. The test closes it.
func openSQLite(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// queryInt returns the number that a query returns from the store in dir, 0 if there is
// no store.
func queryInt(t *testing.T, dir, query string) (n int) {
	t.Helper()
	if _, err := os.Stat(storePath(dir)); err != nil {
		return 0
	}
	db := openSQLite(t, storePath(dir))
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// lockStore begins a write transaction on a store, which ends with release.
func lockStore(t *testing.T, path string) (release func()) {
	t.Helper()
	db := openSQLite(t, "file:"+path+"?_txlock=immediate")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback(); _ = db.Close() }
}
