//go:build !postgres

package enginetest

import (
	"path/filepath"
	"testing"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
)

const (
	sqlDriver        = "sqlite3"
	invalidateCaches = "" // SQLite notices any commit
)

func newEngine(dsn string) engine.Engine { return sqlite.New(dsn) }

// WithDatabases returns m, whose tests can call New.
func WithDatabases(m *testing.M) interface{ Run() int } { return m }

// New returns a new database.
func New(t testing.TB) Database {
	return Database{"sqlite", filepath.Join(t.TempDir(), "pets.db")}
}
