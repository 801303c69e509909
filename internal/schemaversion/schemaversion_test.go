package schemaversion_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

func TestMain(m *testing.M) { os.Exit(enginetest.WithDatabases(m).Run()) }

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
	got := store.Schema()
	if age := time.Since(got.MigratedAt); age < -time.Minute || age > time.Hour {
		t.Errorf("the schema was migrated at %s, want now", got.MigratedAt)
	}
	got.MigratedAt = time.Time{}
	testkit.Equal(t, "the schema", want, got)
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

// A newer program says in the store whether earlier programs can still use it.
func TestNewerStoreIsRefusedUnlessThisProgramCanUseIt(t *testing.T) {
	t.Parallel()
	const newer = engine.SchemaVersion + 1
	d := enginetest.New(t)
	d.Execute(t, fmt.Sprintf("INSERT INTO petstore_schema_version (version_id, is_applied) VALUES (%d, TRUE)", newer))
	wantStore(t, d, engine.Schema{Version: newer, Previous: newer})
	d.Execute(t, fmt.Sprintf("UPDATE store SET min_schema_version = %d", newer))
	migrated := "wrong schema version: a newer petstore has migrated the store to " + fmt.Sprint(newer)
	for _, noMigration := range []bool{false, true} {
		_, err := repository.Open(t.Context(), d.Engine(), repository.Options{Options: engine.Options{NoMigration: noMigration}})
		testkit.WantMessage(t, "Open", err, migrated, ": use a newer petstore")
	}
}

// A store of a program before version 1.0.0 is refused unchanged.
func TestEarlyStoreIsRefused(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]string{
		"its version": "UPDATE petstore_schema_version SET version_id = 8 WHERE version_id > 0",
		"its tables":  "ALTER TABLE store RENAME TO versions; UPDATE petstore_schema_version SET version_id = 8 WHERE version_id > 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := enginetest.New(t)
			d.Execute(t, early)
			for _, noMigration := range []bool{false, true} {
				_, err := repository.Open(t.Context(), d.Engine(), repository.Options{Options: engine.Options{NoMigration: noMigration}})
				testkit.WantMessage(t, "Open", err, engine.ErrEarlySchema.Error())
			}
			var version int64
			err := d.Connect(t).QueryRowContext(t.Context(), "SELECT max(version_id) FROM petstore_schema_version").Scan(&version)
			testkit.Equal(t, "the version afterwards", int64(8), version, err)
		})
	}
}
