//go:build cgo

package schema

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/schemaversion"
	"example.com/petstore/internal/test/testkit"
)

var (
	check  = testkit.Check
	update = flag.Bool("update", false, "rewrite testdata/schemas.sql")
)

// Some migrations behave as if another process had applied them first: their version is committed, and they fail.
func TestMigrateReportsOnlyWhatThisProcessApplies(t *testing.T) {
	t.Parallel()
	byOther := func(version int) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "-- +goose NO TRANSACTION\n-- +goose Up\n"+
			"INSERT INTO petstore_schema_version (version_id, is_applied) VALUES (%d, TRUE);\nSELECT * FROM missing;\n", version)}
	}
	byThis := &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE first (id INTEGER);\n")}
	for _, test := range []struct {
		first *fstest.MapFile
		want  engine.Schema
	}{
		{byThis, engine.Schema{Version: 101, Created: true, OtherTables: "first"}},
		{byOther(100), engine.Schema{Version: 101, Previous: 101}},
	} {
		db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "pets.db"))
		check(t, err)
		t.Cleanup(func() { _ = db.Close() })
		got, err := migrate(t.Context(), db, fstest.MapFS{
			"migrations/00100_first.sql": test.first, "migrations/00101_second.sql": byOther(101),
		})
		testkit.Equal(t, "the schema", test.want, got, err)
	}
}

// A released migration must not be changed, because it has migrated existing stores.
func TestMigrationsCreateTheSchemaOfEachVersion(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("migrations", "*.sql"))
	check(t, err)
	var got strings.Builder
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		check(t, err)
		db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "pets.db"))
		check(t, err)
		defer func() { check(t, db.Close()) }()
		provider, err := schemaversion.NewProvider(goose.DialectSQLite3, db, migrations)
		check(t, err)
		_, err = provider.UpTo(t.Context(), version)
		check(t, err)
		rows, err := db.QueryContext(t.Context(),
			"SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT IN ('sqlite_sequence', 'petstore_schema_version') ORDER BY name")
		check(t, err)
		defer rows.Close()
		fmt.Fprintf(&got, "-- version %d\n", version)
		for rows.Next() {
			var statement string
			check(t, rows.Scan(&statement))
			got.WriteString(statement + ";\n")
		}
		check(t, rows.Err())
	}
	golden := filepath.Join("testdata", "schemas.sql")
	if *update {
		check(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	check(t, err)
	testkit.Equal(t, golden+": run go test with -update if only a new version is added", string(want), got.String())
}
