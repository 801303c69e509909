package repository_test

import (
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
)

// TestPagesOfACategoryAreFoundByTheirIndex: with ten million animals, other plans take up to a second.
func TestPagesOfACategoryAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	store := open(t, newEngine(t), repository.Options{})
	for status, want := range map[domain.PetStatus]int{"": 4, domain.PetSold: 1} {
		query := domain.PetQuery{PageRequest: domain.PageRequest{After: 100, Limit: 20}, Status: status, CategoryID: new(int64(1))}
		plan, err := store.PlanOfCategory(query)
		check(t, err)
		if strings.Count(plan, "USING INDEX pets_category_id_status_id (category_id=? AND <expr>=? AND id>?)") != want {
			t.Errorf("status %q: the index is not used %d times:\n%s", status, want, plan)
		}
	}
}
