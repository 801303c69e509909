package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
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
	})
	if want := (engine.Schema{Version: 2, Created: true}); err != nil || schema != want {
		t.Errorf("got %+v and %v, want %+v", schema, err, want)
	}
}

func TestOpenMigratesStoreWithOlderSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	sqlitetest.Newer(t, path)
	for _, statement := range []string{
		"DROP TABLE imports", "DROP TABLE unfinished_copy", "ALTER TABLE api_keys DROP COLUMN read_only",
		"DELETE FROM goose_db_version WHERE version_id > 1", "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)",
		"INSERT INTO api_keys (name, hash, last_four, created_at) VALUES ('till 1', zeroblob(32), 'last', 0)",
	} {
		sqlitetest.Execute(statement)(t, path)
	}
	store := open(t, filepath.Dir(path), repository.Options{Migrate: true})
	page, err := store.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 1}})
	if err != nil || len(page.Items) != 1 || store.Schema().Version != 4 || store.Schema().Created {
		t.Errorf("got %v, %v, schema version %d and created %t, want one pet, 4 and false", page.Items, err, store.Schema().Version, store.Schema().Created)
	}
	keys, err := store.Keys().List(t.Context())
	if err != nil || len(keys) != 1 || keys[0].ReadOnly {
		t.Errorf("got the keys %+v and %v, want one that may do all", keys, err)
	}
}

// A released migration must not be changed: stores exist that it has migrated.
func TestMigrationsCreateTheSchemaOfEachVersion(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("migrations", "*.sql"))
	check(t, err)
	var got strings.Builder
	for version := range files {
		db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "pets.db"))
		check(t, err)
		defer func() { check(t, db.Close()) }()
		check(t, sqlite.CreateSchema(t.Context(), db, int64(version+1)))
		rows, err := db.QueryContext(t.Context(), "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name")
		check(t, err)
		defer rows.Close()
		fmt.Fprintf(&got, "-- version %d\n", version+1)
		for rows.Next() {
			var statement string
			check(t, rows.Scan(&statement))
			got.WriteString(statement + ";\n")
		}
		check(t, rows.Err())
	}
	if diff := cmp.Diff(string(sqlitetest.ReadFile(t, filepath.Join("testdata", "schemas.sql"))), got.String()); diff != "" {
		t.Errorf("the migrations create another schema than testdata/schemas.sql (-want +got):\n%s", diff)
	}
}

func TestDamagedFileIsNotChangedByMigration(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "pets.db")
	s := sqlitetest.Open(t, source)
	t.Cleanup(func() { check(t, s.Close()) })
	sqlitetest.Execute("ALTER TABLE api_keys DROP COLUMN read_only; DELETE FROM goose_db_version WHERE version_id = 4")(t, source)
	path := sqlitetest.CopyOf(t, source)
	sqlitetest.OverwritePage(t, path, "api_keys") // which the migration reads
	before := [...][]byte{sqlitetest.ReadFile(t, path), sqlitetest.ReadFile(t, path+"-wal")}
	_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err == nil || !strings.HasSuffix(err.Error(), "the database is damaged: restore a backup that is intact") {
		t.Errorf("got the error %v, want that the database is damaged", err)
	}
	sqlitetest.CollectGarbage()
	if !bytes.Equal(before[0], sqlitetest.ReadFile(t, path)) || !bytes.Equal(before[1], sqlitetest.ReadFile(t, path+"-wal")) {
		t.Error("the file or its WAL was changed")
	}
}
