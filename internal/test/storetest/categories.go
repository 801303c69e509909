package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

// listCategories returns all categories, read in pages. Each page has the position of the latest change.
func listCategories(t testing.TB, s Store, limit int) (all []domain.CategoryInventory) {
	t.Helper()
	position, err := s.Changes().Latest(t.Context())
	testkit.Check(t, err)
	for query := (domain.CategoryQuery{Limit: limit}); ; {
		page, err := s.Categories().List(t.Context(), query)
		testkit.Equal(t, "the position of a page", position, page.Position, err)
		all = append(all, page.Items...)
		if !page.More {
			return all
		}
		testkit.Equal(t, "the length of a page", limit, len(page.Items))
		query.After = &all[len(all)-1].ID
	}
}

// wantCategories expects the categories with these names and numbers of animals.
func wantCategories(t testing.TB, s Store, names map[int64]string, counts map[int64]*domain.Inventory) {
	t.Helper()
	position, err := s.Changes().Latest(t.Context())
	testkit.Check(t, err)
	ids := slices.AppendSeq(slices.Collect(maps.Keys(names)), maps.Keys(counts))
	slices.Sort(ids)
	var want []domain.CategoryInventory
	for _, id := range slices.Compact(ids) {
		category := domain.CategoryInventory{Category: domain.Category{ID: id, Name: names[id]}}
		if counts[id] != nil {
			category.Inventory = *counts[id]
		}
		category.Position = position
		want = append(want, category)
	}
	testkit.Equal(t, "the categories", want, listCategories(t, s, 100))
	each := 0
	testkit.Check(t, s.Categories().Each(t.Context(), func(category domain.Category) error {
		testkit.Equal(t, "Each", want[each].Category, category)
		each++
		return nil
	}))
	n, err := s.Categories().Count(t.Context())
	testkit.Equal(t, "Each and Count", [2]int{len(want), len(want)}, [2]int{each, int(n)}, err)
}

// named returns a function that names a category.
func named(id int64, name string) TxFunc {
	return func(ctx context.Context, r port.Repositories) error {
		return r.Categories.SetName(ctx, domain.Category{ID: id, Name: name})
	}
}

// unnamed returns a function that removes the name of a category.
func unnamed(id int64) TxFunc {
	return func(ctx context.Context, r port.Repositories) error {
		category, err := r.Categories.Find(ctx, id)
		return errors.Join(err, r.Categories.RemoveName(ctx, category.Category))
	}
}

func categoryIsNamedAndItsNameRemoved(t *testing.T, s Store) {
	const dogs, cats, none = math.MinInt64, int64(0), int64(7)
	rex := domain.NewPet{Name: "Rex", CategoryID: dogs, Status: domain.PetAvailable}
	expect := func(names map[int64]string, counts map[int64]*domain.Inventory) {
		t.Helper()
		wantCategories(t, s, names, counts)
	}
	expect(nil, nil)
	inTx(t, s, named(dogs, "Dogs"))
	inTx(t, s, named(cats, strings.Repeat("猫", 200)))
	expect(map[int64]string{dogs: "Dogs", cats: strings.Repeat("猫", 200)}, nil)
	pets := addTogether(t, s, []domain.NewPet{rex, rex, {Name: "Tom", CategoryID: none}})
	inTx(t, s, named(dogs, "' Hünde 🐶")) // the numbers stay
	inTx(t, s, unnamed(cats))            // a category without animals
	expect(map[int64]string{dogs: "' Hünde 🐶"}, map[int64]*domain.Inventory{dogs: {Available: 2}, none: {None: 1}})
	failure := errors.New("failure")
	for _, change := range []TxFunc{unnamed(dogs), named(none, "Fish")} {
		err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error { return errors.Join(change(ctx, r), failure) })
		testkit.WantError(t, "InTx", err, failure)
	}
	for _, pet := range pets {
		removePet(t, s, pet) // the category stays if it has a name
	}
	expect(map[int64]string{dogs: "' Hünde 🐶"}, nil)

	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		added, err := r.Pets.Create(ctx, []domain.NewPet{rex})
		err = errors.Join(err, unnamed(dogs)(ctx, r))
		category, findErr := r.Categories.Find(ctx, dogs)
		testkit.Equal(t, "the category in the transaction", domain.Category{ID: dogs}, category.Category)
		pets = added
		return errors.Join(err, findErr)
	})
	expect(nil, map[int64]*domain.Inventory{dogs: {Available: 1}})
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		return errors.Join(named(dogs, "Dogs")(ctx, r), r.Pets.Remove(ctx, pets[0]), unnamed(dogs)(ctx, r))
	})
	expect(nil, nil)
}

func categoriesAreListedInPages(t *testing.T, s Store) {
	ids := []int64{math.MinInt64, math.MinInt64 + 1, -7, -1, 0, 1, 2, 41, math.MaxInt64 - 1, math.MaxInt64}
	var want []domain.CategoryInventory
	for i, id := range slices.Backward(ids) {
		category := domain.CategoryInventory{Category: domain.Category{ID: id}, Inventory: domain.Inventory{None: 1}}
		addPets(t, s, domain.NewPet{Name: "Rex", CategoryID: id})
		if i%2 == 0 {
			category.Name = "same"
			inTx(t, s, named(id, category.Name))
		}
		want = append(want, category)
	}
	slices.Reverse(want)
	for i := range want {
		want[i].Position = latest(t, s)
	}
	for limit := 1; limit <= len(ids)+1; limit++ {
		testkit.Equal(t, fmt.Sprintf("pages of %d", limit), want, listCategories(t, s, limit))
	}
	for after, n := range map[int64]int{math.MinInt64: 9, -8: 8, 0: 5, 3: 3, math.MaxInt64: 0} {
		page, err := s.Categories().List(t.Context(), domain.CategoryQuery{After: &after, Limit: 100})
		testkit.Equal(t, fmt.Sprintf("after %d", after), want[10-n:], page.Items, err)
		testkit.Equal(t, "the position", latest(t, s), page.Position)
	}
}
