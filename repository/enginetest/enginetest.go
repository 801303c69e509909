// Package enginetest creates databases for the tests of other packages, which so run with
// each engine: with SQLite, or with PostgreSQL if built with the tag postgres. Only tests
// import it.
package enginetest

import (
	"context"
	"database/sql"
	"testing"

	"example.com/petstore/repository/engine"
)

// A Database is a new database, which is empty or does not exist. It is removed when the
// test ends.
type Database struct {
	Driver string // as in database.driver
	DSN    string
}

// Engine returns the engine of the database.
func (d Database) Engine() engine.Engine { return newEngine(d.DSN) }

// Connect returns connections to the database as another program would have, which are closed
// when the test ends.
func (d Database) Connect(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(sqlDriver, d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs a statement, with the engine's placeholders, on a connection of its own, as
// another program would. It makes the entries of caches stale, on SQLite within 100 ms.
func (d Database) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	db := d.Connect(t)
	defer func() { _ = db.Close() }()
	for _, s := range []string{statement, invalidateCaches} {
		if _, err := db.ExecContext(context.Background(), s, args...); err != nil {
			t.Fatal(err)
		}
		args = nil
	}
}
