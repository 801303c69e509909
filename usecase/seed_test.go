package usecase_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// readAll reads all pages of a list.
func readAll[T any](t *testing.T, list func(domain.PageRequest) (domain.Page[T], error), id func(T) int64) []T {
	t.Helper()
	var records []T
	for page := (domain.Page[T]{More: true}); page.More; {
		request := domain.PageRequest{Limit: 100}
		if len(records) > 0 {
			request.After = id(records[len(records)-1])
		}
		page = must[domain.Page[T]](t)(list(request))
		records = append(records, page.Items...)
	}
	return records
}

func allPets(t *testing.T, store *repository.Store) []domain.Pet {
	t.Helper()
	return readAll(t, func(r domain.PageRequest) (domain.Page[domain.Pet], error) {
		return store.Pets().List(t.Context(), domain.PetQuery{PageRequest: r})
	}, func(pet domain.Pet) int64 { return pet.ID })
}

func allOrders(t *testing.T, store *repository.Store) []domain.Order {
	t.Helper()
	return readAll(t, func(r domain.PageRequest) (domain.Page[domain.Order], error) {
		return store.Orders().List(t.Context(), domain.OrderQuery{PageRequest: r})
	}, func(order domain.Order) int64 { return order.ID })
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

func TestSeededOrdersAgreeWithAnimals(t *testing.T) {
	t.Parallel()
	store := seeded(t, 1, 5, 1000)
	want := map[domain.OrderStatus]domain.PetStatus{
		domain.OrderPlaced: domain.PetPending, domain.OrderDelivered: domain.PetSold, domain.OrderCancelled: domain.PetAvailable,
	}
	found := map[domain.OrderStatus]int{}
	for _, order := range allOrders(t, store) {
		pet := must[domain.Pet](t)(store.Pets().Get(t.Context(), order.PetID))
		if pet.Status != want[order.Status] {
			t.Errorf("order %d is %s: got the pet status %q, want %q", order.ID, order.Status, pet.Status, want[order.Status])
		}
		found[order.Status]++
	}
	for status := range want {
		if found[status] == 0 {
			t.Errorf("got no order with the status %s", status)
		}
	}
}

func TestSeederOrdersEachAnimalOnce(t *testing.T) {
	t.Parallel()
	store := seeded(t, 1, 1, 500)
	ordered := map[int64]bool{}
	for _, order := range allOrders(t, store) {
		if ordered[order.PetID] {
			t.Errorf("pet %d: got two orders, want one", order.PetID)
		}
		ordered[order.PetID] = true
	}
	for _, pet := range allPets(t, store) {
		if !ordered[pet.ID] && pet.Status != domain.PetPending && pet.Status != domain.PetSold {
			t.Errorf("pet %d has the status %q: got no order, want one", pet.ID, pet.Status)
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
