package main

import (
	"database/sql"
	"os"
	"testing"
)

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
