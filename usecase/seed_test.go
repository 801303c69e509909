package usecase_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/usecase"
)

func (s *testStore) allOrders(t *testing.T) []domain.Order {
	t.Helper()
	q := domain.OrderQuery{PageRequest: domain.PageRequest{Limit: 10_000}}
	return must[domain.Page[domain.Order]](t)(s.Orders().List(t.Context(), q)).Items
}

// seeded returns a new store with the animals and orders of a seed. They were added in batches.
func seeded(t *testing.T, seed uint64, batches ...int) *testStore {
	t.Helper()
	s := newTestStore(t)
	seeder := usecase.NewSeeder(s, seed, 5, s.clock)
	orders := 0
	for _, n := range batches {
		orders += must[int](t)(seeder.Add(t.Context(), n))
	}
	if got := len(s.allOrders(t)); got != orders {
		t.Errorf("got %d orders, want the %d that Add returned", got, orders)
	}
	return s
}

func TestSameSeedGeneratesSameStore(t *testing.T) {
	t.Parallel()
	one, other := seeded(t, 7, 1000), seeded(t, 7, 1, 499, 300, 200)
	if diff := cmp.Diff(one.allPets(t), other.allPets(t)); diff != "" {
		t.Errorf("pets (-one +other)\n%s", diff)
	}
	if diff := cmp.Diff(one.allOrders(t), other.allOrders(t)); diff != "" {
		t.Errorf("orders (-one +other)\n%s", diff)
	}
	if cmp.Equal(one.allPets(t), seeded(t, 8, 1000).allPets(t)) {
		t.Error("another seed: got the same pets")
	}
}

func TestSeededAnimalsVary(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := usecase.NewSeeder(s, 1, 0, s.clock).Add(canceled, 100)
	wantError(t, err, domain.ErrUnavailable, domain.CodeUnavailable)
	if orders := must[int](t)(usecase.NewSeeder(s, 1, 0, s.clock).Add(t.Context(), 2000)); orders != 0 {
		t.Errorf("got %d orders, want none", orders)
	}
	statuses, categories, names := map[domain.PetStatus]int{}, map[int64]int{}, map[string]int{}
	for _, pet := range s.allPets(t) {
		check(t, pet.New().Validate())
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

func TestEveryFifthAnimalIsOrderedOnce(t *testing.T) {
	t.Parallel()
	s := seeded(t, 1, 500)
	want := map[domain.OrderStatus]domain.PetStatus{
		domain.OrderPlaced: domain.PetPending, domain.OrderDelivered: domain.PetSold, domain.OrderCancelled: domain.PetAvailable,
	}
	pets, ordered, found := s.allPets(t), map[int64]bool{}, map[domain.OrderStatus]int{}
	for _, order := range s.allOrders(t) {
		if pet := pets[order.PetID-1]; ordered[pet.ID] || pet.Status != want[order.Status] {
			t.Errorf("got the order %+v of %+v, ordered before: %t", order, pet, ordered[pet.ID])
		}
		ordered[order.PetID] = true
		found[order.Status]++
	}
	if len(found) != len(want) {
		t.Errorf("got orders with the statuses %v, want one with each", found)
	}
	orderable := len(ordered)
	for _, pet := range pets {
		if !ordered[pet.ID] && (pet.Status == "" || pet.Status == domain.PetAvailable) {
			orderable++
		}
	}
	if len(ordered) != orderable/5 {
		t.Errorf("got orders of %d of %d animals that can be ordered", len(ordered), orderable)
	}
}
