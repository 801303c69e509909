package repository_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// TestPagesOfACategoryAreFoundByTheirIndex: with ten million animals, other plans take up to a second.
func TestPagesOfACategoryAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	store, db := openSQLite(t)
	for status, want := range map[domain.PetStatus]int{"": 4, domain.PetSold: 1} {
		query := domain.PetQuery{PageRequest: domain.PageRequest{After: 100, Limit: 20}, Status: status, CategoryID: new(int64(1))}
		plan := planOf(t, db, store.SQLOfCategory(query))
		if strings.Count(plan, "USING INDEX pets_category_id_status_id (category_id=? AND <expr>=? AND id>?)") != want {
			t.Errorf("status %q: the index is not used %d times:\n%s", status, want, plan)
		}
	}
}

// openSQLite returns a new store and another connection pool on its file.
func openSQLite(t *testing.T) (*repository.Store, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets.db")
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return store, db
}

// planOf returns the query plan of a statement.
func planOf(t *testing.T, db *sql.DB, statement string) (plan string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement)
	check(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		check(t, rows.Scan(&id, &parent, &unused, &step))
		plan += step + "\n"
	}
	check(t, rows.Err())
	return plan
}
