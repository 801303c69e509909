package storecopy_test

import (
	"context"
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

// newFile returns the path of a new store after statements.
func newFile(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets.db")
	create(t, sqlite.New(path))
	execute(t, path, statements...)
	return path
}

func openFile(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw&_busy_timeout=0")
	check(t, err)
	return db
}

func openDatabase(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	check(t, err)
	return db
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	executeIn(t, openFile(t, path), statements)
}

func executeOn(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	executeIn(t, openDatabase(t, dsn), statements)
}

// executeIn runs statements and closes db.
func executeIn(t *testing.T, db *sql.DB, statements []string) {
	t.Helper()
	defer func() { check(t, db.Close()) }()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		check(t, err)
	}
}

// queryText returns the only value of a query.
func queryText(t *testing.T, dsn, query string) (text string) {
	t.Helper()
	db := openDatabase(t, dsn)
	defer func() { check(t, db.Close()) }()
	check(t, db.QueryRowContext(t.Context(), query).Scan(&text))
	return text
}

// dump returns the data of a store in the order of the primary keys.
func dump(t *testing.T, path string) string {
	t.Helper()
	db := openFile(t, path)
	defer func() { _ = db.Close() }()
	var text strings.Builder
	for _, query := range []string{
		"* FROM pets ORDER BY 1", "* FROM orders ORDER BY 1", "* FROM api_keys ORDER BY 1", "* FROM idempotency_keys ORDER BY 1, 2", "* FROM imports ORDER BY 1",
		"name, seq FROM sqlite_sequence WHERE name IN ('pets', 'orders', 'api_keys') AND seq > 0 ORDER BY 1", "count(*) FROM unfinished_copy",
	} {
		dumpQuery(t, db, "SELECT "+query, &text)
	}
	return text.String()
}

// dumpQuery writes the rows of a query to text.
func dumpQuery(t *testing.T, db *sql.DB, query string, text *strings.Builder) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	check(t, err)
	defer rows.Close()
	columns, _ := rows.Columns()
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		check(t, rows.Scan(dest...))
		fmt.Fprintf(text, "%s %#v\n", query, values)
	}
	check(t, rows.Err())
}

// wantSame expects the same data in two stores.
func wantSame(t *testing.T, from, to string) {
	t.Helper()
	storetest.Equal(t, "(-source +target)", dump(t, from), dump(t, to))
}

var check = storetest.Check

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

func copyFile(ctx context.Context, from, to string) (storecopy.Result, error) {
	return copyStore(ctx, sqlite.New(from), sqlite.New(to), false, ignore)
}

func copyStore(ctx context.Context, from, to engine.Engine, snapshot bool, onRows func(n int)) (storecopy.Result, error) {
	return storecopy.Copy(ctx, from, to, storecopy.Options{
		Snapshot: snapshot,
		Progress: func(string, int) func(int) { return onRows },
	})
}

// newDatabase returns the DSN of a new store on PostgreSQL after statements.
func newDatabase(t *testing.T, statements ...string) string {
	t.Helper()
	dsn := server.NewDatabase(t)
	create(t, postgres.New(dsn))
	executeOn(t, dsn, statements...)
	return dsn
}

// create opens a store, which it creates if it does not exist, and closes it.
func create(t *testing.T, e engine.Engine) {
	t.Helper()
	store, err := repository.Open(t.Context(), e, repository.Options{Migrate: true})
	check(t, err)
	check(t, store.Close())
}

// wantUnfinished expects that a store cannot be opened, because it is an unfinished copy.
func wantUnfinished(t *testing.T, from, to engine.Engine) {
	t.Helper()
	_, err := repository.Open(t.Context(), to, repository.Options{})
	wantText(t, err, "open the store %s: it is an unfinished copy of %s: run the same petstore copy again, which begins anew, or use another store", to, from)
}

// rowsOf returns the number of rows that were copied.
func rowsOf(result storecopy.Result) (rows int64) {
	for _, table := range result.Tables {
		rows += table.Rows
	}
	return rows
}

// manyPets adds pets for some batches, and an order for each tenth.
const manyPets = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
	INSERT INTO pets (name, category_id, status) SELECT 'pet ' || i, i, iif(i % 10 = 0, 'pending', NULL) FROM n;
	INSERT INTO orders (pet_id, status, created_at, updated_at) SELECT id, 'placed', 1, 1 FROM pets WHERE status = 'pending'`
