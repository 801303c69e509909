package harness

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // registers the driver sqlite3
)

// StorePath returns the path of the default store of a process that runs in dir.
func StorePath(dir string) string { return filepath.Join(dir, "petstore.db") }

// NewStore returns a temporary directory with an empty store.
func NewStore(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	MustRun(t, dir, "migrate", "up")
	return dir
}

// SeededStore returns a temporary directory with a store of count seeded animals.
func SeededStore(t *testing.T, count string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	MustRun(t, dir, "seed", "--count", count, "--orders", "5")
	return dir
}

// OpenSQLite opens an SQLite database, which is closed at the end of the test.
func OpenSQLite(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", dsn)
	Check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// QueryInt returns the number that a query returns from the store in dir, 0 if there is no store.
func QueryInt(t testing.TB, dir, query string) (n int) {
	t.Helper()
	if _, err := os.Stat(StorePath(dir)); err != nil {
		return 0
	}
	db := OpenSQLite(t, StorePath(dir))
	defer func() { _ = db.Close() }()
	Check(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

// LockStore begins a write transaction on a store, as another process would, which ends with
// release.
func LockStore(t testing.TB, path string) (release func()) {
	t.Helper()
	db := OpenSQLite(t, "file:"+path+"?_txlock=immediate&_busy_timeout=5000")
	tx, err := db.BeginTx(t.Context(), nil)
	Check(t, err)
	return func() { _ = tx.Rollback(); _ = db.Close() }
}
