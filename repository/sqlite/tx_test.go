package sqlite_test

import (
	"path/filepath"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// A foreign key that is checked at the commit makes it fail, but SQLite does not end the
// transaction.
func TestFailedCommitEndsTheTransaction(t *testing.T) {
	t.Parallel()
	database, err := sqlite.New(filepath.Join(t.TempDir(), "pets.db")).Open(t.Context(), repository.EngineOptions{Migrate: true})
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
	if err := tx.Commit(repository.Changes{}); err == nil {
		t.Error("the commit succeeded, want that the foreign key makes it fail")
	}
	tx, err = database.Begin(t.Context())
	check(t, err)
	check(t, tx.Rollback())
}
