//go:build cgo

package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
)

// A foreign key that is checked at the commit makes it fail, but SQLite does not end the
// transaction.
func TestFailedCommitEndsTheTransaction(t *testing.T) {
	t.Parallel()
	database, err := sqlite.New(filepath.Join(t.TempDir(), "pets.db")).Open(t.Context(), engine.Options{Migrate: true})
	check(t, err)
	defer func() { check(t, database.Close()) }()
	tx, err := database.Begin(t.Context())
	check(t, err)
	for _, statement := range []string{
		"PRAGMA defer_foreign_keys = ON",
		"INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (1, 'placed', 1, 1)",
	} {
		_, err := tx.ExecContext(t.Context(), statement)
		check(t, err)
	}
	if err := tx.Commit(engine.Changes{}); err == nil {
		t.Error("the commit succeeded, want that the foreign key makes it fail")
	}
	tx, err = database.Begin(t.Context())
	check(t, err)
	check(t, tx.Rollback())
}

// On the connection that writes, a statement after the end would be a transaction of its own.
func TestEndedTransactionRunsNoStatement(t *testing.T) {
	t.Parallel()
	database, err := sqlite.New(filepath.Join(t.TempDir(), "pets.db")).Open(t.Context(), engine.Options{Migrate: true})
	check(t, err)
	defer func() { check(t, database.Close()) }()
	for name, end := range map[string]func(engine.Tx) error{
		"commit":   func(tx engine.Tx) error { return tx.Commit(engine.Changes{}) },
		"rollback": engine.Tx.Rollback,
	} {
		tx, err := database.Begin(t.Context())
		check(t, err)
		check(t, end(tx))
		check(t, tx.Rollback())
		const statement = "INSERT INTO pets (name, category_id) VALUES ('rex', 7) RETURNING id"
		for method, run := range map[string]func() error{
			"Exec": func() error {
				_, err := tx.ExecContext(t.Context(), statement)
				return err
			},
			"Query": func() error {
				rows, err := tx.QueryContext(t.Context(), statement)
				if err != nil {
					return err
				}
				defer rows.Close()
				return rows.Err()
			},
			"Prepare": func() error {
				prepared, err := tx.PrepareContext(t.Context(), statement)
				if err != nil {
					return err
				}
				defer func() { check(t, prepared.Close()) }()
				return nil
			},
			"QueryRow": func() error {
				var id int64
				return tx.QueryRowContext(t.Context(), statement).Scan(&id)
			},
		} {
			if err := run(); !errors.Is(err, sql.ErrConnDone) {
				t.Errorf("%s after the %s: got %v, want %v", method, name, err, sql.ErrConnDone)
			}
		}
	}
}
