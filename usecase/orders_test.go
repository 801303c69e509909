package usecase_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// A testStore is a store with its use cases.
type testStore struct {
	store  *repository.Store
	pets   *usecase.Pets
	orders *usecase.Orders
	clock  *clock
}

// newTestStore opens a new store, at noon.
func newTestStore(t *testing.T) testStore {
	t.Helper()
	store, c := open(t), &clock{noon}
	return testStore{store, newPets(store, c), usecase.NewOrders(store, store.Orders(), c.now), c}
}

func (s testStore) add(t *testing.T, status domain.PetStatus) int64 {
	t.Helper()
	pet, _, err := s.pets.Create(t.Context(), domain.NewPet{Name: "Rex", Status: status}, domain.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	return pet.ID
}

func (s testStore) place(t *testing.T, petID int64) domain.Order {
	t.Helper()
	order, _, err := s.orders.Place(t.Context(), petID, domain.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	return order
}

func (s testStore) wantPet(t *testing.T, id int64, status domain.PetStatus) {
	t.Helper()
	pet, err := s.pets.Get(t.Context(), id)
	if err != nil || pet.Status != status {
		t.Errorf("pet %d: got the status %q and %v, want %q", id, pet.Status, err, status)
	}
}

func TestOrderChangesItsAnimal(t *testing.T) {
	t.Parallel()
	for _, status := range []domain.PetStatus{domain.PetAvailable, ""} {
		s := newTestStore(t)
		pet := s.add(t, status)

		order := s.place(t, pet)
		want := domain.Order{ID: 1, PetID: pet, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("Place (-want +got)\n%s", diff)
		}
		s.wantPet(t, pet, domain.PetPending)

		s.clock.time = noon.Add(time.Hour)
		cancelled := must[domain.Order](t)(s.orders.Cancel(t.Context(), order.ID))
		want.Status, want.UpdatedAt = domain.OrderCancelled, s.clock.time
		if diff := cmp.Diff(want, cancelled); diff != "" {
			t.Errorf("Cancel (-want +got)\n%s", diff)
		}
		s.wantPet(t, pet, domain.PetAvailable)

		second := s.place(t, pet)
		delivered := must[domain.Order](t)(s.orders.Deliver(t.Context(), second.ID))
		if delivered.Status != domain.OrderDelivered {
			t.Errorf("Deliver: got %+v, want the status delivered", delivered)
		}
		s.wantPet(t, pet, domain.PetSold)

		_, _, err := s.orders.Place(t.Context(), pet, domain.IdempotencyKey{})
		wantError(t, err, domain.ErrConflict, "pet_not_available")
	}
}

func TestEndedOrderKeepsItsTimesWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for _, end := range []func(context.Context, int64) (domain.Order, error){s.orders.Deliver, s.orders.Cancel} {
		s.clock.time = noon
		want := s.place(t, s.add(t, domain.PetAvailable))
		s.clock.time = noon.Add(-time.Hour)
		ended := must[domain.Order](t)(end(t.Context(), want.ID))
		want.Status = ended.Status
		if diff := cmp.Diff(want, ended); diff != "" {
			t.Errorf("ended order (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff(ended, must[domain.Order](t)(s.orders.Get(t.Context(), want.ID))); diff != "" {
			t.Errorf("Get (-ended +read)\n%s", diff)
		}
	}
}

func TestOnlyAvailableAnimalIsOrdered(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for _, status := range []domain.PetStatus{domain.PetPending, domain.PetSold} {
		pet := s.add(t, status)
		_, _, err := s.orders.Place(t.Context(), pet, domain.IdempotencyKey{})
		wantError(t, err, domain.ErrConflict, "pet_not_available")
		s.wantPet(t, pet, status)
	}
	_, _, err := s.orders.Place(t.Context(), 42, domain.IdempotencyKey{})
	wantError(t, err, domain.ErrNotFound, "pet_not_found")
}

func TestEndedOrderIsNotChanged(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for _, test := range []struct {
		end, other func(context.Context, int64) (domain.Order, error)
		pet        domain.PetStatus
	}{
		{s.orders.Deliver, s.orders.Cancel, domain.PetSold},
		{s.orders.Cancel, s.orders.Deliver, domain.PetAvailable},
	} {
		pet := s.add(t, domain.PetAvailable)
		order := s.place(t, pet)
		first := must[domain.Order](t)(test.end(t.Context(), order.ID))
		s.clock.time = s.clock.time.Add(time.Hour)
		again := must[domain.Order](t)(test.end(t.Context(), order.ID))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("repeated call (-first +again)\n%s", diff)
		}
		_, err := test.other(t.Context(), order.ID)
		wantError(t, err, domain.ErrConflict, "order_state_conflict")
		s.wantPet(t, pet, test.pet)
		_, err = test.end(t.Context(), 4711)
		wantError(t, err, domain.ErrNotFound, "order_not_found")
	}
}

// A repeated Cancel of an old order must not change the next order of the animal.
func TestRepeatedCancelDoesNotChangeNextOrder(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	pet := s.add(t, domain.PetAvailable)
	first := s.place(t, pet)
	must[domain.Order](t)(s.orders.Cancel(t.Context(), first.ID))
	s.place(t, pet)
	must[domain.Order](t)(s.orders.Cancel(t.Context(), first.ID))
	s.wantPet(t, pet, domain.PetPending)
}

func TestRetriedOrderIsPlacedOnce(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	pet := s.add(t, domain.PetAvailable)
	first, _, err := s.orders.Place(t.Context(), pet, keyOf("1", "k"))
	if err != nil {
		t.Fatal(err)
	}
	must[domain.Order](t)(s.orders.Deliver(t.Context(), first.ID))
	again, replayed, err := s.orders.Place(t.Context(), pet, keyOf("1", "k"))
	if diff := cmp.Diff(first, again); err != nil || !replayed || diff != "" {
		t.Errorf("got %v, replayed %t, want a replay (-first +again)\n%s", err, replayed, diff)
	}
	// The same key cannot be used for another operation.
	_, _, err = s.pets.Create(t.Context(), rex, keyOf("1", "k"))
	wantError(t, err, domain.ErrReused, "idempotency_key_reused")
	// A rejected order does not use its key.
	_, _, err = s.orders.Place(t.Context(), pet, keyOf("1", "other"))
	wantError(t, err, domain.ErrConflict, "pet_not_available")
	if _, replayed, err := s.orders.Place(t.Context(), s.add(t, ""), keyOf("1", "other")); replayed || err != nil {
		t.Errorf("got replayed %t and %v, want a new order", replayed, err)
	}
}

// The statuses of an order and its animal can only disagree if something else than this
// program changed them. Cancel then changes neither.
func TestCancelRejectsInconsistentPet(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	pet := s.add(t, domain.PetAvailable)
	order := s.place(t, pet)
	err := s.store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.ChangeStatusIf(ctx, pet, []domain.PetStatus{domain.PetPending}, domain.PetSold)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var known *domain.Error
	if _, err := s.orders.Cancel(t.Context(), order.ID); err == nil || errors.As(err, &known) {
		t.Errorf("got %v, want an error other than a domain.Error", err)
	}
	s.wantPet(t, pet, domain.PetSold)
	if got := must[domain.Order](t)(s.orders.Get(t.Context(), order.ID)); got.Status != domain.OrderPlaced {
		t.Errorf("got the status %s, want placed", got.Status)
	}
}

func TestAnimalIsSoldOnce(t *testing.T) {
	t.Parallel()
	const runs, callers = 100, 64
	s := newTestStore(t)
	for range runs {
		pet := s.add(t, domain.PetAvailable)
		var placed, rejected atomic.Int32
		concurrently(callers, func(int) {
			_, _, err := s.orders.Place(t.Context(), pet, domain.IdempotencyKey{})
			var known *domain.Error
			switch {
			case err == nil:
				placed.Add(1)
			case errors.As(err, &known) && known.Code == "pet_not_available":
				rejected.Add(1)
			default:
				t.Error(err)
			}
		})
		if placed.Load() != 1 || rejected.Load() != callers-1 {
			t.Fatalf("got %d orders and %d rejections, want 1 and %d", placed.Load(), rejected.Load(), callers-1)
		}
	}
}

func TestConcurrentDeliverAndCancelHaveOneResult(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for range 50 {
		order := s.place(t, s.add(t, domain.PetAvailable))
		results := make([]domain.OrderStatus, 16)
		concurrently(len(results), func(i int) {
			end := []func(context.Context, int64) (domain.Order, error){s.orders.Deliver, s.orders.Cancel}[i%2]
			ended, err := end(t.Context(), order.ID)
			if err == nil {
				results[i] = ended.Status
			} else if !errors.Is(err, domain.ErrConflict) {
				t.Error(err)
			}
		})
		final := must[domain.Order](t)(s.orders.Get(t.Context(), order.ID))
		for i, result := range results {
			requested := []domain.OrderStatus{domain.OrderDelivered, domain.OrderCancelled}[i%2]
			if (requested == final.Status) != (result == final.Status) || result != "" && result != final.Status {
				t.Errorf("the order is %s, but a caller who requested %s got %q", final.Status, requested, result)
			}
		}
	}
}

// concurrently calls fn n times, in n goroutines that start together.
func concurrently(n int, fn func(i int)) {
	var wait sync.WaitGroup
	ready := make(chan struct{})
	for i := range n {
		wait.Go(func() {
			<-ready
			fn(i)
		})
	}
	close(ready)
	wait.Wait()
}
