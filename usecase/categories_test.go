package usecase_test

import (
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/usecase"
)

func TestNameOfACategoryFollowsTheRules(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	categories := usecase.NewCategories(s, s.Categories())
	_, err := categories.List(t.Context(), domain.CategoryQuery{Limit: 101})
	wantError(t, err, domain.ErrInvalid, "invalid_parameter", "limit must be 1 to 100")
	for _, name := range []string{"", " ", "\u200b", "a\x00b", "\xff", strings.Repeat("x", 201)} {
		_, changed, err := categories.Put(t.Context(), domain.Category{ID: 7, Name: name})
		wantError(t, err, domain.ErrInvalid, "validation_failed", "name "+domain.PetNameRule)
		testkit.Equal(t, "whether the name changed", false, changed)
	}
	_, err = categories.PutAll(t.Context(), []domain.Category{{ID: 7, Name: "Dogs"}, {ID: 8, Name: " "}})
	wantError(t, err, domain.ErrInvalid, "validation_failed", "name "+domain.PetNameRule)
	wantError(t, categories.Delete(t.Context(), 7), domain.ErrNotFound, "category_not_found")
	for _, name := range []string{"Dogs", "Dogs", "dogs"} {
		before := must[int64](t)(s.changes.Latest(t.Context()))
		named, changed, err := categories.Put(t.Context(), domain.Category{ID: 7, Name: name})
		testkit.Equal(t, "Put", name, named.Name, err)
		after := must[int64](t)(s.changes.Latest(t.Context()))
		testkit.Equal(t, "whether it is a change", changed, after == before+1)
	}
	all := []domain.Category{{ID: 6}, {ID: 7, Name: "dogs"}, {ID: 8, Name: "Cats"}, {ID: 9, Name: "Fish"}}
	changed := must[int64](t)(categories.PutAll(t.Context(), all))
	testkit.Equal(t, "the names that changed", int64(2), changed)
	changed = must[int64](t)(categories.PutAll(t.Context(), []domain.Category{{ID: 8}, {ID: 9, Name: "Fishes"}}))
	testkit.Equal(t, "the names that changed", int64(2), changed)
	wantError(t, categories.Delete(t.Context(), 8), domain.ErrNotFound, "category_not_found")
	check(t, categories.Delete(t.Context(), 7))
	wantError(t, categories.Delete(t.Context(), 7), domain.ErrNotFound, "category_not_found")
}
