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
	path := filepath.Join(t.TempDir(), "pets.db")
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	check(t, err)
	defer store.Close()
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	defer db.Close()
	for status, want := range map[domain.PetStatus]int{"": 4, domain.PetSold: 1} {
		query := domain.PetQuery{PageRequest: domain.PageRequest{After: 100, Limit: 20}, Status: status, CategoryID: new(int64(1))}
		rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+store.SQLOfCategory(query))
		check(t, err)
		var plan strings.Builder
		for rows.Next() {
			var id, parent, unused int
			var step string
			check(t, rows.Scan(&id, &parent, &unused, &step))
			plan.WriteString(step + "\n")
		}
		check(t, rows.Close())
		if strings.Count(plan.String(), "USING INDEX pets_category_id_status_id (category_id=? AND <expr>=? AND id>?)") != want {
			t.Errorf("status %q: the index is not used %d times:\n%s", status, want, plan.String())
		}
	}
}
