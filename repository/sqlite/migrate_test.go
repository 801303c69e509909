package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
)

// The second migration does what another process does that applies it first: its version is
// committed, and it fails here.
func TestMigrateReportsCreationWhenAnotherProcessAppliesTheRest(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "pets.db"))
	check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	schema, err := sqlite.Migrate(t.Context(), db, fstest.MapFS{
		"migrations/00001_first.sql": {Data: []byte("-- +goose Up\nCREATE TABLE first (id INTEGER);\n")},
		"migrations/00002_second.sql": {Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\n" +
			"INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, TRUE);\nSELECT * FROM missing;\n")},
	}, true)
	if want := (engine.Schema{Version: 2, Created: true}); err != nil || schema != want {
		t.Errorf("got %+v and %v, want %+v", schema, err, want)
	}
}
