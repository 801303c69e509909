package schemaversion_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/enginetest"
	"example.com/petstore/repository/storetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.WithDatabases(m).Run()) }

// newest is the query of earlier programs for the version. They recorded it in goose_db_version.
const newest = "SELECT max(version_id) FROM goose_db_version"

// toState5 are statements that give a store of version 5 the tables of an earlier program.
const toState5 = `ALTER TABLE petstore_schema_version RENAME TO goose_db_version; DELETE FROM goose_db_version WHERE version_id > 5;`

// migrate runs the migrations of a host and returns their numbers. Each migration creates a table.
func migrate(t *testing.T, d enginetest.Database, names ...string) (applied []int64, err error) {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range names {
		files[name+".sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE " + strings.TrimLeft(name, "0123456789_") + " (id int);\n")}
	}
	dialect := map[string]goose.Dialect{enginetest.SQLite: goose.DialectSQLite3, enginetest.Postgres: goose.DialectPostgres}[d.Driver]
	provider, err := goose.NewProvider(dialect, d.Connect(t), files, goose.WithDisableGlobalRegistry(true))
	testkit.Check(t, err)
	results, err := provider.Up(t.Context())
	for _, result := range results {
		applied = append(applied, result.Source.Version)
	}
	return applied, err
}

// wantStore opens a store, which may be new, and expects a schema.
func wantStore(t *testing.T, d enginetest.Database, want engine.Schema) {
	t.Helper()
	store, err := repository.Open(t.Context(), d.Engine(), repository.Options{})
	testkit.Check(t, err)
	testkit.Equal(t, "the schema", want, store.Schema())
	testkit.Check(t, errors.Join(store.InTx(t.Context(), storetest.Adding("Rex")), store.Close()))
}

func TestHostMayHaveItsTablesBesideThoseOfAStoreInEachOrder(t *testing.T) {
	t.Parallel()
	const version = engine.SchemaVersion
	migrateHost := func(t *testing.T, d enginetest.Database) {
		t.Helper()
		applied, err := migrate(t, d, "1_visits", "2_vets", "20240101000000_bills")
		testkit.Equal(t, "the migrations of the host", []int64{1, 2, 20240101000000}, applied, err)
	}
	t.Run("the host first", func(t *testing.T) {
		t.Parallel()
		d := enginetest.NewEmpty(t)
		migrateHost(t, d)
		wantStore(t, d, engine.Schema{Version: version, Created: true, OtherTables: "bills, vets, visits"})
		wantStore(t, d, engine.Schema{Version: version, Previous: version, OtherTables: "bills, vets, visits"})
	})
	t.Run("the store first", func(t *testing.T) {
		t.Parallel()
		d := enginetest.NewEmpty(t)
		wantStore(t, d, engine.Schema{Version: version, Created: true})
		migrateHost(t, d)
		wantStore(t, d, engine.Schema{Version: version, Previous: version, OtherTables: "bills, vets, visits"})
	})
}

func TestVersionIsTakenOverFromTheTableOfAHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after []string // the migrations of the host, before and after Open
		want          []int64  // the migrations that goose runs after Open
		error         string
		others        string
	}{
		"without a host":    {},
		"a later host":      {after: []string{"20240101000000_bills"}, want: []int64{20240101000000}},
		"its first numbers": {after: []string{"1_visits", "20240101000000_bills"}, error: "detected 1 missing (out-of-order) migration"},
		"a host":            {before: []string{"20240101000000_bills"}, after: []string{"20240101000000_bills"}, others: "bills"},
		"one that was skipped": {
			before: []string{"1_visits", "6_bills"},
			after:  []string{"1_visits", "6_bills"},
			error:  "detected 1 missing (out-of-order) migration",
			others: "bills",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := enginetest.NewEmpty(t)
			wantStore(t, d, engine.Schema{Version: engine.SchemaVersion, Created: true})
			d.DownTo(t, 5)
			db := d.Connect(t)
			_, err := db.ExecContext(t.Context(), toState5)
			testkit.Check(t, err)
			if test.before != nil {
				_, err = migrate(t, d, test.before...)
				testkit.Check(t, err)
			}
			_, err = repository.Open(t.Context(), d.Engine(), repository.Options{Options: engine.Options{NoMigration: true}})
			want := fmt.Sprintf("the store has 5, this program needs %d: run petstore migrate up", engine.SchemaVersion)
			testkit.WantMessage(t, "Open without a migration", err, want)
			testkit.Concurrently(t, 4, func(int) (bool, error) {
				store, err := repository.Open(t.Context(), d.Engine(), repository.Options{})
				if err != nil {
					return false, err
				}
				return false, store.Close()
			})
			wantStore(t, d, engine.Schema{Version: engine.SchemaVersion, Previous: engine.SchemaVersion, OtherTables: test.others})
			var version int64
			err = db.QueryRowContext(t.Context(), newest).Scan(&version)
			if err != nil || version <= 5 {
				t.Errorf("a program of before reads the version %d and %v, want one that it does not support", version, err)
			}
			if test.after == nil {
				return
			}
			applied, err := migrate(t, d, test.after...)
			if test.error != "" {
				testkit.WantMessage(t, "the host's goose", err, test.error)
				err = nil
			}
			testkit.Equal(t, "the migrations of the host", test.want, applied, err)
		})
	}
}
