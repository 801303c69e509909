// Package enginetest creates databases for the tests of other packages, so that these run with each engine.
// Only tests import it.
package enginetest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/sqlite"
)

// The names of the engines in the setting database.driver.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

var (
	driver   string               // the engine of the current run
	server   *postgrestest.Server // nil while the tests run with SQLite
	template string               // the path or name of the database that New copies: a copy takes less time than migrations
)

// WithDatabases returns an m whose tests can call New. Run runs the tests with SQLite, and then with
// PostgreSQL if it is available. With PETSTORE_TEST_ENGINE=sqlite or =postgres, Run runs them only with
// that engine. With -fuzz or -list, Run uses SQLite unless PETSTORE_TEST_ENGINE names PostgreSQL.
func WithDatabases(m *testing.M) interface{ Run() int } { return withDatabases{m} }

type withDatabases struct{ *testing.M }

func (m withDatabases) Run() (code int) {
	postgrestest.RunMoreInParallel()
	only := os.Getenv("PETSTORE_TEST_ENGINE")
	if only != "" && only != SQLite && only != Postgres {
		fmt.Fprintf(os.Stderr, "PETSTORE_TEST_ENGINE=%s: must be %s or %s\n", only, SQLite, Postgres)
		return 2
	}
	if flag.Lookup("test.fuzz").Value.String()+flag.Lookup("test.list").Value.String() != "" {
		only = cmp.Or(only, SQLite)
	}
	if only != Postgres {
		driver = SQLite
		code = withTemplate(m).Run()
	}
	if only == SQLite || only == "" && !postgrestest.Available() {
		return code
	}
	driver = Postgres
	if testing.Verbose() {
		fmt.Fprintln(os.Stdout, "=== the same tests with PostgreSQL")
	}
	return max(code, postgrestest.WithServer(withTemplate(m), &server).Run())
}

// withTemplate creates the template before its tests, and removes it after them.
type withTemplate struct{ *testing.M }

func (m withTemplate) Run() (code int) {
	remove, err := createTemplate()
	if err == nil {
		if code = m.M.Run(); code != 0 {
			fmt.Fprintln(os.Stderr, "the tests failed with "+driver)
		}
		err = remove()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func createTemplate() (remove func() error, err error) {
	var created Database
	if driver == Postgres {
		if server == nil {
			return nil, errors.New("PostgreSQL is not available")
		}
		if template, remove, err = server.Create(context.Background(), "template0"); err != nil {
			return nil, err
		}
		created = Database{Postgres, server.DSN(template)}
	} else {
		folder, err := os.MkdirTemp("", "petstore-template-")
		if err != nil {
			return nil, err
		}
		template, remove = filepath.Join(folder, "pets.db"), func() error { return os.RemoveAll(folder) }
		created = Database{SQLite, template}
	}
	database, err := created.Engine().Open(context.Background(), engine.Options{MaxOpenConns: 1})
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return remove, database.Close()
}

// A Database is a new database without records. It is removed when the test ends.
type Database struct {
	Driver string // as in database.driver
	DSN    string
}

// New returns a new database with the newest schema.
func New(t testing.TB) Database {
	t.Helper()
	if driver == Postgres {
		return Database{Postgres, server.NewCopy(t, template)}
	}
	folder, file := filepath.Split(template)
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return Database{SQLite, filepath.Join(copied, file)}
}

// NewEmpty returns a new database without a store.
func NewEmpty(t testing.TB) Database {
	t.Helper()
	if driver == Postgres {
		return Database{Postgres, server.NewDatabase(t)}
	}
	return Database{SQLite, filepath.Join(t.TempDir(), "pets.db")}
}

// Engine returns an engine that opens the database.
func (d Database) Engine() engine.Engine {
	if d.Driver == Postgres {
		return postgres.New(d.DSN)
	}
	return sqlite.New(d.DSN)
}

// Connect returns connections to the database, as another program would open. They are closed when the test
// ends.
func (d Database) Connect(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(map[string]string{SQLite: "sqlite3", Postgres: "pgx"}[d.Driver], d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs a statement, with the placeholders of the engine, on a connection of its own, as another program would. The
// caches notice it on SQLite within 100 ms, on PostgreSQL because Exec raises the numbers.
func (d Database) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	d.Execute(t, statement, args...)
	if d.Driver == Postgres {
		d.Execute(t, "UPDATE store SET position = position + 1, altered = position + 1")
	}
}

// Execute is Exec, but the caches do not notice it on PostgreSQL.
func (d Database) Execute(t testing.TB, statement string, args ...any) {
	t.Helper()
	db := d.Connect(t)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(context.Background(), statement, args...); err != nil {
		t.Fatal(err)
	}
}
