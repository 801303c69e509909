// Package schemaversion records the schema version of a store in a table of its own, so that a host program
// can use goose in the same database.
package schemaversion

import (
	"cmp"
	"context"
	"database/sql"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/engine"
)

// Table is the name of the table.
const Table = "petstore_schema_version"

// NewProvider returns a provider of the migrations in the folder migrations of fsys.
func NewProvider(dialect goose.Dialect, db *sql.DB, fsys fs.FS, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(fsys, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, files, append(options, goose.WithTableName(Table), goose.WithDisableGlobalRegistry(true))...)
}

// MigratedAt returns when the latest migration was applied. tstamp is the SQL of this time, in UTC.
func MigratedAt(ctx context.Context, db *sql.DB, tstamp string) (at time.Time, err error) {
	err = db.QueryRowContext(ctx, "SELECT "+tstamp+" FROM "+Table+" ORDER BY version_id DESC LIMIT 1").Scan(&at)
	return at.UTC(), err
}

// Read returns the schema version of a store. It is not valid if the table is empty. If the version is newer than this
// program and the program cannot use it, Read returns an engine.NewerSchemaError.
func Read(ctx context.Context, db *sql.DB) (version sql.NullInt64, err error) {
	err = db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+Table).Scan(&version)
	if err == nil && version.Int64 > engine.SchemaVersion {
		var numbers engine.State
		err = db.QueryRowContext(ctx, "SELECT min_schema_version FROM store").Scan(&numbers.MinSchemaVersion)
		err = cmp.Or(err, numbers.CheckSchema())
	}
	return version, err
}
