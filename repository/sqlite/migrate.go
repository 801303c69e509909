package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"

	"github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"

	"example.com/petstore/repository/engine"
)

//go:embed migrations
var migrations embed.FS

// migrate migrates the schema with the files of fsys if allowed, and rejects one that is
// newer than this program supports.
func migrate(ctx context.Context, db *sql.DB, fsys fs.FS, allowed bool) (schema engine.Schema, err error) {
	provider, err := newProvider(db, fsys)
	if err != nil {
		return schema, err
	}
	// Processes that start at the same time migrate a file together: one of them commits
	// each migration, and the others read the version again.
	for first := true; ; first = false {
		current, latest, err := provider.GetVersions(ctx)
		if err == nil {
			err = engine.CheckSchemaVersion(current, latest, allowed)
		}
		if first {
			schema.Previous = current
		}
		if schema.Version = current; err != nil || current == latest {
			return schema, err
		}
		applied, err := provider.UpByOne(ctx)
		if err == nil {
			schema.Created = schema.Created || applied.Source.Version == 1
			continue
		}
		if after, _, versionErr := provider.GetVersions(ctx); versionErr != nil || after == current {
			return schema, err
		}
	}
}

// checkSchema returns the error that migrate would return, without writing.
func checkSchema(ctx context.Context, db *sql.DB, migrate bool) error {
	provider, err := newProvider(db, migrations)
	if err != nil {
		return err
	}
	current, err := readSchemaVersion(ctx, db)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	return engine.CheckSchemaVersion(current, sources[len(sources)-1].Version, migrate)
}

// readSchemaVersion returns the number of the latest migration of a store.
func readSchemaVersion(ctx context.Context, db *sql.DB) (int64, error) {
	var version sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&version)
	if err == nil && !version.Valid { // the file was truncated
		err = sqlite3.Error{Code: sqlite3.ErrCorrupt}
	}
	return version.Int64, err
}

func newProvider(db *sql.DB, fsys fs.FS) (*goose.Provider, error) {
	files, err := fs.Sub(fsys, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
}
