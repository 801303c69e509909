// Package schemaversion records the schema version of a store in a table of its own, so that a host program
// can use goose in the same database. It is not for embedders.
package schemaversion

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

const (
	// Table is the name of the table.
	Table = "petstore_schema_version"
	// lastShared is the last version that was recorded in goose_db_version. A greater version there belongs
	// to a host program. A host program has no rows for its own migrations 1 to 5, because goose skipped
	// them.
	lastShared = 5
)

// NewProvider returns a provider of the migrations in the folder migrations of fsys.
func NewProvider(dialect goose.Dialect, db *sql.DB, fsys fs.FS, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(fsys, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, files, append(options, goose.WithTableName(Table), goose.WithDisableGlobalRegistry(true))...)
}

// Read returns the schema version of a store. It is not valid if the table is empty.
func Read(ctx context.Context, db *sql.DB, dialect goose.Dialect) (version sql.NullInt64, err error) {
	exists, err := exists(ctx, db, dialect)
	if err != nil {
		return version, err
	}
	if !exists {
		err = db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version WHERE version_id <= $1", lastShared).Scan(&version)
		if err != nil || version.Int64 > 0 { // otherwise another process has just called TakeOver
			return version, err
		}
	}
	err = db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+Table).Scan(&version)
	return version, err
}

// TakeOver moves the schema version of a store from goose_db_version to Table. Earlier programs recorded it
// in goose_db_version. TakeOver leaves the rows of a host program there.
//
// If a host program has no rows there, TakeOver adds the version 99999, so that earlier programs reject the
// store as newer. Until that row is deleted, the migrations of a host program need greater numbers, such as
// timestamps: goose skips a migration with the number 99999, and returns an error for one with a lesser
// number, such as a sequential one, because it takes that for a missing one.
func TakeOver(ctx context.Context, db *sql.DB, dialect goose.Dialect) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if exists, err := exists(ctx, tx, dialect); err != nil || exists {
		return err
	}
	deleted, err := tx.ExecContext(ctx, "DELETE FROM goose_db_version WHERE version_id BETWEEN 1 AND $1", lastShared)
	if err != nil {
		return err
	}
	version, err := deleted.RowsAffected()
	if err != nil || version == 0 { // another process has just committed its TakeOver
		return err
	}
	store, err := database.NewStore(dialect, Table)
	if err != nil {
		return err
	}
	if err := store.CreateVersionTable(ctx, tx); err != nil {
		return err
	}
	for v := range version + 1 {
		if err := store.Insert(ctx, tx, database.InsertRequest{Version: v}); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO goose_db_version (version_id, is_applied)
		SELECT 99999, TRUE WHERE NOT EXISTS (SELECT 1 FROM goose_db_version WHERE version_id > $1)`, lastShared); err != nil {
		return err
	}
	return tx.Commit()
}

// exists reports whether the database has Table.
func exists(ctx context.Context, db database.DBTxConn, dialect goose.Dialect) (exists bool, err error) {
	query := "SELECT count(*) > 0 FROM sqlite_schema WHERE name = $1"
	if dialect == goose.DialectPostgres {
		query = "SELECT count(*) > 0 FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1"
	}
	err = db.QueryRowContext(ctx, query, Table).Scan(&exists)
	return exists, err
}
