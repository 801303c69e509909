package storecopy_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storecopy"
)

var server *postgrestest.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.WithServer(m, &server)) }

// newFile returns the path of a new store after statements.
func newFile(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets.db")
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	execute(t, path, statements...)
	return path
}

func openFile(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw&_busy_timeout=0")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db := openFile(t, path)
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
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
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(text, "%s %#v\n", query, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// wantSame expects the same data in two stores.
func wantSame(t *testing.T, from, to string) {
	t.Helper()
	if diff := cmp.Diff(dump(t, from), dump(t, to)); diff != "" {
		t.Errorf("(-source +target)\n%s", diff)
	}
}

func withoutProgress(string, int) func(int) { return func(int) {} }

func copyFile(ctx context.Context, from, to string) (storecopy.Result, error) {
	return storecopy.Copy(ctx, sqlite.New(from), sqlite.New(to), storecopy.Options{Progress: withoutProgress})
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
