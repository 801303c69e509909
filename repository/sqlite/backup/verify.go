//go:build cgo

package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"gorm.io/gorm"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/schema"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// Contents are what Verify found in a store.
type Contents struct {
	Records
	SchemaVersion int64 // the number of the latest migration
	Bytes         int64 // size of the file
}

// Records are the numbers of the records of a store.
type Records struct{ Pets, Orders, Keys int64 }

// Verify reads the whole store at path, which no process may write to: its pages, indexes
// and constraints (integrity_check, foreign_key_check), its identity and its schema version.
// It returns an error, which ends with the remedy, for a file that is damaged, is no store or is
// one of a newer program.
func Verify(ctx context.Context, path string) (Contents, error) {
	contents, err := verify(ctx, path)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("verify %s: %w", path, sqlite.New(path).Remedy(err))
	}
	return contents, err
}

// Identity returns the identity of the store at path, which its backups have, too. It reads no WAL.
func Identity(ctx context.Context, path string) (int64, error) {
	pool := storefile.OpenPool(path, storefile.ImmutablePragmas)
	defer func() { _ = pool.Close() }()
	return storefile.Identity(ctx, pool)
}

func verify(ctx context.Context, path string) (c Contents, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return c, err
	}
	c.Bytes = info.Size()
	pool := storefile.OpenPool(path, storefile.ImmutablePragmas)
	defer func() { _ = pool.Close() }()
	if c.SchemaVersion, err = schema.Check(ctx, pool, true); err != nil {
		return c, err
	}
	if err := checkIntegrity(ctx, pool); err != nil {
		return c, err
	}
	c.Records, err = countRecords(ctx, pool)
	return c, err
}

// checkIntegrity runs the checks of SQLite (sqlite.org/pragma.html).
func checkIntegrity(ctx context.Context, pool *sql.DB) error {
	var result string
	if err := pool.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("the database is damaged (%s): restore a backup that is intact", strings.ReplaceAll(result, "\n", " "))
	}
	var table string
	err := pool.QueryRowContext(ctx, `SELECT "table" FROM pragma_foreign_key_check WHERE "table" IN `+engine.Tables).Scan(&table)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("the database is damaged (a row of %s refers to a missing row): restore a backup that is intact", table)
	}
	return err
}

func countRecords(ctx context.Context, db gorm.ConnPool) (r Records, err error) {
	err = db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM orders), (SELECT count(*) FROM api_keys)").
		Scan(&r.Pets, &r.Orders, &r.Keys)
	return r, err
}
