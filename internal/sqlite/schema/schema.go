//go:build cgo && unix

// Package schema creates, migrates and checks the schema of a SQLite store.
package schema

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"net/url"

	"github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/schemaversion"
	"example.com/petstore/internal/sqlite/storefile"
)

//go:embed migrations
var migrations embed.FS

// Migrate migrates the schema of a database that CheckFile has accepted.
func Migrate(ctx context.Context, db *sql.DB) (engine.Schema, error) {
	schema, err := migrate(ctx, db, migrations)
	if err == nil {
		schema.MigratedAt, err = schemaversion.MigratedAt(ctx, db, "tstamp")
	}
	return schema, err
}

// migrate migrates the schema with the files of fsys.
func migrate(ctx context.Context, db *sql.DB, fsys fs.FS) (schema engine.Schema, err error) {
	if err := storefile.Identify(ctx, db); err != nil && !errors.Is(err, storefile.ErrNoStore) {
		return schema, err
	}
	provider, err := schemaversion.NewProvider(goose.DialectSQLite3, db, fsys)
	if err != nil {
		return schema, err
	}
	current, latest, err := provider.GetVersions(ctx)
	schema.Previous = current
	// Processes that start at the same time migrate a file together. For each migration, one of them
	// commits and the others read the version again.
	migrated := false
	for err == nil && current < latest {
		before := current
		applied, upErr := provider.UpByOne(ctx)
		migrated = migrated || upErr == nil
		schema.Created = schema.Created || upErr == nil && applied.Source.Version == engine.FirstSchemaVersion
		if current, _, err = provider.GetVersions(ctx); current == before {
			err = errors.Join(upErr, err)
		}
	}
	schema.Version = current
	if !migrated {
		schema.Previous = current
	}
	if err == nil {
		schema.OtherTables, err = storefile.OtherTables(ctx, db)
	}
	return schema, err
}

// CheckFile returns an error for a file that storefile.Check or Check rejects, that was overwritten, or that
// is damaged where the service reads first. It does not write to the file. If create is set, it creates a
// missing file, and accepts a database in which a store can be created.
func CheckFile(ctx context.Context, path string, create, migrate bool) (err error) {
	if err := storefile.Check(ctx, path, create); err != nil {
		return err
	}
	// The pragmas of the writer would switch the database of another program to WAL mode.
	pragmas := url.Values{"mode": {"rw"}, "_busy_timeout": {"5000"}}
	if storefile.HasWAL(path) { // a connection that can write would write the WAL to a damaged file
		pragmas = storefile.ReaderPragmas
	}
	pool := storefile.OpenPool(path, pragmas)
	defer func() { err = errors.Join(err, pool.Close()) }()
	version, err := Check(ctx, pool, migrate)
	if create && errors.Is(err, storefile.ErrNoStore) {
		return nil
	}
	if err == nil {
		err = storefile.CheckNotOverwritten(ctx, pool)
	}
	if err == nil && version >= engine.SchemaVersion {
		err = storefile.ReadTables(ctx, pool)
	}
	return err
}

// Check returns the schema version of a store. It returns an error for a database that is not a store, and
// for a newer schema that this program cannot use. For an older schema it returns an error unless migrate is
// set.
func Check(ctx context.Context, db *sql.DB, migrate bool) (int64, error) {
	if err := storefile.Identify(ctx, db); err != nil {
		return 0, err
	}
	version, err := schemaversion.Read(ctx, db)
	if err == nil && !version.Valid { // the file was truncated
		err = sqlite3.Error{Code: sqlite3.ErrCorrupt}
	}
	if err != nil {
		return 0, err
	}
	return version.Int64, engine.CheckSchemaVersion(version.Int64, migrate)
}
