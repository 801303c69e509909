//go:build cgo && unix

package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"example.com/petstore/internal/sqlite/schema"
	"example.com/petstore/internal/sqlite/storefile"
)

// Contents describes a copy.
type Contents struct {
	Pets, Orders, Keys int64
	SchemaVersion      int64 // the number of the latest migration
	Bytes              int64 // the size of the file
}

// Identity returns the identity of the store at path. Its backups have the same. Identity does not read the
// WAL.
func Identity(ctx context.Context, path string) (int64, error) {
	pool := storefile.OpenPool(path, storefile.ImmutablePragmas)
	defer func() { _ = pool.Close() }()
	return storefile.Identity(ctx, pool)
}

// verify reads the whole store at path. It checks the application_id, the schema version, the pages,
// indexes and constraints (integrity_check), and that the animal of each order that is not cancelled
// exists. No process may write to the store. If the file is damaged, is no store or is the store of a newer
// program, the error ends with the remedy.
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
	err = pool.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM orders), (SELECT count(*) FROM api_keys)").
		Scan(&c.Pets, &c.Orders, &c.Keys)
	return c, err
}

// checkIntegrity runs the checks of SQLite (sqlite.org/pragma.html), and checks that the animals of orders
// exist.
func checkIntegrity(ctx context.Context, pool *sql.DB) error {
	var result string
	if err := pool.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("the database is damaged (%s): restore a backup that is intact", strings.ReplaceAll(result, "\n", " "))
	}
	var order int64
	err := pool.QueryRowContext(ctx, `SELECT orders.id FROM orders LEFT JOIN pets ON pets.id = pet_id
		WHERE orders.status <> 'cancelled' AND pets.id IS NULL`).Scan(&order)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("the database is damaged (the animal of the order %d is missing): restore a backup that is intact", order)
	}
	return err
}
