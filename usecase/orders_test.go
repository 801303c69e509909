package usecase_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

func (s *testStore) add(t *testing.T, status domain.PetStatus) int64 {
	t.Helper()
	pet, _, err := s.pets.Create(t.Context(), domain.NewPet{Name: "Rex", Status: status}, domain.IdempotencyKey{})
	check(t, err)
	return pet.ID
}

func (s *testStore) place(ctx context.Context, petID int64) (domain.Order, error) {
	order, _, err := s.orders.Place(ctx, petID, domain.IdempotencyKey{})
	return order, err
}

func (s *testStore) wantPet(t *testing.T, id int64, status domain.PetStatus) {
	t.Helper()
	if pet := must[domain.Pet](t)(s.pets.Get(t.Context(), id)); pet.Status != status {
		t.Errorf("pet %d: got the status %q, want %q", id, pet.Status, status)
	}
}

// The other rules of orders are tested in delivery/http, storetest and test/linearizability: which animal
// can be ordered, retries, and concurrent calls.
func TestOrderChangesItsAnimal(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for _, test := range []struct {
		before     domain.PetStatus
		end, other func(context.Context, int64) (domain.Order, bool, error)
		order      domain.OrderStatus
		after      domain.PetStatus
	}{
		{domain.PetAvailable, s.orders.Deliver, s.orders.Cancel, domain.OrderDelivered, domain.PetSold},
		{"", s.orders.Cancel, s.orders.Deliver, domain.OrderCancelled, domain.PetAvailable},
	} {
		s.now = noon
		pet := s.add(t, test.before)
		order := must[domain.Order](t)(s.place(t.Context(), pet))
		want := domain.Order{ID: order.ID, PetID: pet, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("Place (-want +got)\n%s", diff)
		}
		s.wantPet(t, pet, domain.PetPending)
		_, err := s.place(t.Context(), pet)
		wantError(t, err, domain.ErrConflict, "pet_not_available")

		want.Status, want.UpdatedAt = test.order, noon.Add(time.Hour)
		for _, wantChanged := range []bool{true, false} { // a repeated call changes nothing
			s.now = s.now.Add(time.Hour)
			ended, changed, err := test.end(t.Context(), order.ID)
			if diff := cmp.Diff(want, ended); diff != "" || changed != wantChanged || err != nil {
				t.Errorf("ended order with changed %t and %v (-want +got)\n%s", changed, err, diff)
			}
			_, _, err = test.other(t.Context(), order.ID)
			wantError(t, err, domain.ErrConflict, "order_state_conflict")
			s.wantPet(t, pet, test.after)
		}
		_, _, err = test.end(t.Context(), 4711)
		wantError(t, err, domain.ErrNotFound, "order_not_found")
	}
	_, err := s.place(t.Context(), 4711)
	wantError(t, err, domain.ErrNotFound, "pet_not_found")
	_, err = s.place(t.Context(), s.add(t, domain.PetSold))
	wantError(t, err, domain.ErrConflict, "pet_not_available")
}

// The statuses of an order and of its animal can only disagree if another program has changed them. Cancel
// then changes neither.
func TestCancelRejectsInconsistentPet(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	pet := s.add(t, domain.PetAvailable)
	order := must[domain.Order](t)(s.place(t.Context(), pet))
	check(t, s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		pending, err := r.Pets.Get(ctx, pet)
		if err != nil {
			return err
		}
		sold := pending
		sold.Status = domain.PetSold
		return r.Pets.Update(ctx, pending, sold)
	}))
	if _, _, err := s.orders.Cancel(t.Context(), order.ID); err == nil || errors.As(err, new(*domain.Error)) {
		t.Errorf("got %v, want an error other than a domain.Error", err)
	}
	s.wantPet(t, pet, domain.PetSold)
	if got := must[domain.Order](t)(s.orders.Get(t.Context(), order.ID)); got.Status != domain.OrderPlaced {
		t.Errorf("got the status %s, want placed", got.Status)
	}
}
