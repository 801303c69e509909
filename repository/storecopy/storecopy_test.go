package storecopy_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storecopy"
	"example.com/petstore/repository/storetest"
)

var server *postgrestest.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.WithServer(m, &server)) }

var check = storetest.Check

// manyPets adds pets for some batches, and an order for each tenth.
const manyPets = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
	INSERT INTO pets (name, category_id, status) SELECT 'pet ' || i, i, iif(i % 10 = 0, 'pending', NULL) FROM n;
	INSERT INTO orders (pet_id, status, created_at, updated_at) SELECT id, 'placed', 1, 1 FROM pets WHERE status = 'pending'`

// onSQLite reports whether a DSN is the path of a file.
func onSQLite(dsn string) bool { return filepath.IsAbs(dsn) }

func engineOf(dsn string) engine.Engine {
	if onSQLite(dsn) {
		return sqlite.New(dsn)
	}
	return postgres.New(dsn)
}

// missingFile returns the path of a file that does not exist.
func missingFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "pets.db")
}

// newFile returns the path of a new store after statements.
func newFile(t *testing.T, statements ...string) string {
	t.Helper()
	return create(t, missingFile(t), statements)
}

// newDatabase returns the DSN of a new store on PostgreSQL after statements.
func newDatabase(t *testing.T, statements ...string) string {
	t.Helper()
	return create(t, server.NewDatabase(t), statements)
}

func create(t *testing.T, dsn string, statements []string) string {
	t.Helper()
	check(t, open(t, dsn))
	for _, statement := range statements {
		check(t, execute(t, dsn, statement))
	}
	return dsn
}

// open opens a store, which it creates if it does not exist, and closes it.
func open(t *testing.T, dsn string) error {
	t.Helper()
	store, err := repository.Open(t.Context(), engineOf(dsn), repository.Options{Migrate: true})
	if err != nil {
		return err
	}
	return store.Close()
}

func openDB(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if onSQLite(dsn) {
		driver, dsn = "sqlite3", "file:"+dsn+"?mode=rw&_busy_timeout=0"
	}
	db, err := sql.Open(driver, dsn)
	check(t, err)
	return db
}

func execute(t *testing.T, dsn, statement string) error {
	t.Helper()
	db := openDB(t, dsn)
	defer func() { check(t, db.Close()) }()
	_, err := db.ExecContext(t.Context(), statement)
	return err
}

// queryText returns the only value of a query.
func queryText(t *testing.T, dsn, query string) (text string) {
	t.Helper()
	db := openDB(t, dsn)
	defer func() { check(t, db.Close()) }()
	check(t, db.QueryRowContext(t.Context(), query).Scan(&text))
	return text
}

// dump returns the data of a store on SQLite, a row in each line.
func dump(t *testing.T, path string) string {
	t.Helper()
	lines := []string{
		"SELECT 'sequence ' || name || ' ' || seq AS line FROM sqlite_sequence WHERE name IN ('pets', 'orders', 'api_keys') AND seq > 0",
		"SELECT 'unfinished ' || count(*) FROM unfinished_copy",
	}
	for table, columns := range storecopy.CopiedColumns() {
		values := "quote(" + strings.ReplaceAll(columns, ", ", ") || ' ' || quote(") + ")"
		lines = append(lines, "SELECT '"+table+" ' || "+values+" FROM "+table)
	}
	return queryText(t, path, "SELECT group_concat(line, char(10)) FROM ("+strings.Join(lines, " UNION ALL ")+" ORDER BY line)")
}

// wantSame expects the same data in two stores on SQLite.
func wantSame(t *testing.T, from, to string) {
	t.Helper()
	storetest.Equal(t, "(-source +target)", dump(t, from), dump(t, to))
}

// wantText expects the error with this text alone.
func wantText(t *testing.T, err error, format string, args ...any) {
	t.Helper()
	storetest.Equal(t, "the error", fmt.Sprintf(format, args...), fmt.Sprint(err))
}

func ignore(int) {}

// atFirstRows returns what calls fn when the first rows are copied, which must happen.
func atFirstRows(t *testing.T, fn func()) func(int) {
	t.Helper()
	called := false
	t.Cleanup(func() {
		if !called {
			t.Error("nothing was copied")
		}
	})
	return func(int) {
		if !called {
			called = true
			fn()
		}
	}
}

func copyStore(t *testing.T, from, to string, onRows func(n int)) (storecopy.Result, error) {
	t.Helper()
	return storecopy.Copy(t.Context(), engineOf(from), engineOf(to), options(false, onRows))
}

func copySnapshot(t *testing.T, from, to string, onRows func(n int)) (storecopy.Result, error) {
	t.Helper()
	return storecopy.Copy(t.Context(), engineOf(from), engineOf(to), options(true, onRows))
}

func options(snapshot bool, onRows func(n int)) storecopy.Options {
	return storecopy.Options{Snapshot: snapshot, Progress: func(string, int) func(int) { return onRows }}
}

// rowsOf returns the number of rows that were copied.
func rowsOf(result storecopy.Result) (rows int64) {
	for _, table := range result.Tables {
		rows += table.Rows
	}
	return rows
}
