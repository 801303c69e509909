package usecase_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func allOrders(t *testing.T, store *repository.Store) []domain.Order {
	t.Helper()
	q := domain.OrderQuery{PageRequest: domain.PageRequest{Limit: 10_000}}
	return must[domain.Page[domain.Order]](t)(store.Orders().List(t.Context(), q)).Items
}

// seeded returns a new store with the animals and orders of a seed, added in batches.
func seeded(t *testing.T, seed uint64, orderEvery int, batches ...int) *repository.Store {
	t.Helper()
	store := open(t)
	seeder := usecase.NewSeeder(store, seed, orderEvery, (&clock{noon}).now)
	orders := 0
	for _, n := range batches {
		orders += must[int](t)(seeder.Add(t.Context(), n))
	}
	if got := len(allOrders(t, store)); got != orders {
		t.Errorf("got %d orders, want the %d that Add returned", got, orders)
	}
	return store
}

func TestSameSeedGeneratesSameStore(t *testing.T) {
	t.Parallel()
	one, other := seeded(t, 7, 10, 2000), seeded(t, 7, 10, 1, 999, 600, 400)
	if diff := cmp.Diff(allPets(t, one), allPets(t, other)); diff != "" {
		t.Errorf("pets (-one +other)\n%s", diff)
	}
	if diff := cmp.Diff(allOrders(t, one), allOrders(t, other)); diff != "" {
		t.Errorf("orders (-one +other)\n%s", diff)
	}
	if cmp.Equal(allPets(t, one), allPets(t, seeded(t, 8, 10, 2000))) {
		t.Error("another seed: got the same pets")
	}
}

func TestSeededAnimalsVary(t *testing.T) {
	t.Parallel()
	statuses, categories, names := map[domain.PetStatus]int{}, map[int64]int{}, map[string]int{}
	for _, pet := range allPets(t, seeded(t, 1, 0, 2000)) {
		if err := pet.New().Validate(); err != nil {
			t.Fatalf("%v: %v", pet, err)
		}
		statuses[pet.Status]++
		categories[pet.CategoryID]++
		names[pet.Name]++
	}
	for _, status := range []domain.PetStatus{domain.PetAvailable, domain.PetPending, domain.PetSold, ""} {
		if statuses[status] < 20 {
			t.Errorf("status %q: got %d of 2000 pets, want at least 20", status, statuses[status])
		}
	}
	if len(categories) < 24 || len(names) < 500 {
		t.Errorf("got %d categories and %d names, want at least 24 and 500", len(categories), len(names))
	}
}

func TestEveryNthAnimalIsOrderedOnce(t *testing.T) {
	t.Parallel()
	want := map[domain.OrderStatus]domain.PetStatus{
		domain.OrderPlaced: domain.PetPending, domain.OrderDelivered: domain.PetSold, domain.OrderCancelled: domain.PetAvailable,
	}
	for _, every := range []int{1, 5} {
		store := seeded(t, 1, every, 500)
		pets, ordered, found := allPets(t, store), map[int64]bool{}, map[domain.OrderStatus]int{}
		for _, order := range allOrders(t, store) {
			if pet := pets[order.PetID-1]; pet.ID != order.PetID || ordered[pet.ID] || pet.Status != want[order.Status] {
				t.Errorf("every %d: got the order %+v of %+v, ordered before: %t", every, order, pet, ordered[pet.ID])
			}
			ordered[order.PetID] = true
			found[order.Status]++
		}
		if len(found) != len(want) {
			t.Errorf("every %d: got orders with the statuses %v, want one with each", every, found)
		}
		orderable := len(ordered)
		for _, pet := range pets {
			if !ordered[pet.ID] && (pet.Status == "" || pet.Status == domain.PetAvailable) {
				orderable++
			}
		}
		if got := len(ordered); got != orderable/every {
			t.Errorf("every %d: got orders of %d of %d animals that can be ordered", every, got, orderable)
		}
	}
}

func TestCanceledBatchAddsNothing(t *testing.T) {
	t.Parallel()
	store := open(t)
	seeder := usecase.NewSeeder(store, 1, 5, (&clock{noon}).now)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := seeder.Add(canceled, 100)
	wantError(t, err, domain.ErrUnavailable, domain.CodeUnavailable)
	if pets := allPets(t, store); len(pets) != 0 {
		t.Errorf("got %d pets, want none", len(pets))
	}
}
