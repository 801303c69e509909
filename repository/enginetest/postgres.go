//go:build postgres

package enginetest

import (
	"testing"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
)

const (
	sqlDriver        = "pgx"
	invalidateCaches = "UPDATE versions SET added = added + 1, changed = changed + 1, keys = keys + 1"
)

var server *postgrestest.Server

func newEngine(dsn string) engine.Engine { return postgres.New(dsn) }

// WithDatabases returns m, whose tests can call New.
func WithDatabases(m *testing.M) interface{ Run() int } { return postgrestest.WithServer(m, &server) }

// New returns a new database.
func New(t testing.TB) Database {
	t.Helper()
	return Database{"postgres", server.NewDatabase(t)}
}
