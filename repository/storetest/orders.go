package storetest

import (
	"context"
	"math"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// placeOrders orders each pet, in its own transaction.
func placeOrders(t *testing.T, s Store, petIDs ...int64) []domain.Order {
	t.Helper()
	orders := make([]domain.Order, len(petIDs))
	for i, id := range petIDs {
		orders[i] = tx(t, s, func(ctx context.Context, r port.Repositories) (domain.Order, error) {
			return r.Orders.Create(ctx, id, noon.Add(time.Duration(i)*time.Millisecond))
		})
	}
	return orders
}

// moveOrder changes the status of a placed order and reports whether it did.
func moveOrder(t *testing.T, s Store, id int64, to domain.OrderStatus, at time.Time) bool {
	t.Helper()
	return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) {
		return r.Orders.ChangeStatusIf(ctx, id, domain.OrderPlaced, to, at)
	})
}

func ordersAreReadAsPlaced(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"})
	placed := placeOrders(t, s, 1)[0]
	want := domain.Order{ID: 1, PetID: 1, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon}
	Equal(t, "Create", want, placed)
	wantOrder(t, s, want)
	for _, id := range []int64{2, 0, math.MaxInt64, math.MinInt64} {
		_, err := s.Orders().Get(t.Context(), id)
		wantCode(t, err, domain.ErrNotFound, "order_not_found")
	}
}

// wantOrder compares the order with an id with want.
func wantOrder(t *testing.T, s Store, want domain.Order) {
	t.Helper()
	got, err := s.Orders().Get(t.Context(), want.ID)
	Equal(t, "Get", want, got, err)
}

func orderChangesStatusOnce(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	orders := placeOrders(t, s, 1, 2)
	later := noon.Add(time.Hour)
	for _, step := range []struct {
		id   int64
		to   domain.OrderStatus
		at   time.Time
		want bool
	}{
		{1, domain.OrderDelivered, later, true},
		{1, domain.OrderCancelled, later.Add(time.Hour), false},
		{2, domain.OrderCancelled, noon, true}, // before it was placed: its times do not go back
		{3, domain.OrderCancelled, later, false},
	} {
		if got := moveOrder(t, s, step.id, step.to, step.at); got != step.want {
			t.Errorf("ChangeStatusIf of the order %d to %s: got %t, want %t", step.id, step.to, got, step.want)
		}
	}
	orders[0].Status, orders[0].UpdatedAt, orders[1].Status = domain.OrderDelivered, later, domain.OrderCancelled
	wantOrder(t, s, orders[0])
	wantOrder(t, s, orders[1])
}

// petHasOneUncancelledOrder does not change the status of the animal, which does not
// matter here.
func petHasOneUncancelledOrder(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	placeAgain := func() (id int64, err error) {
		err = s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			order, err := r.Orders.Create(ctx, 1, noon)
			id = order.ID
			return err
		})
		return id, err
	}
	placeOrders(t, s, 1, 2)
	_, err := placeAgain()
	wantCode(t, err, domain.ErrConflict, "pet_not_available")
	moveOrder(t, s, 1, domain.OrderCancelled, noon)
	id, err := placeAgain()
	if err != nil {
		t.Errorf("after the cancellation: got %v, want no error", err)
	}
	if !moveOrder(t, s, id, domain.OrderDelivered, noon) {
		t.Error("ChangeStatusIf of a placed order: got false, want true")
	}
	_, err = placeAgain()
	wantCode(t, err, domain.ErrConflict, "pet_not_available")
}

// rejectedOrderLeavesTheTransaction places an order that is rejected, after and before changes
// that are committed.
func rejectedOrderLeavesTheTransaction(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"})
	placeOrders(t, s, 1)
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		for _, name := range []string{"before", "after"} {
			if _, err := r.Pets.Create(ctx, domain.NewPet{Name: name}); err != nil {
				return err
			}
			_, err := r.Orders.Create(ctx, 1, noon)
			wantCode(t, err, domain.ErrConflict, "pet_not_available")
		}
		return nil
	})
	pets, err := s.Pets().List(t.Context(), pageQuery(1, 3))
	if err != nil || len(pets.Items) != 2 || pets.Items[0].Name != "before" || pets.Items[1].Name != "after" {
		t.Errorf("got the pets %v and %v, want before and after", pets, err)
	}
	if n, err := s.Orders().Count(t.Context(), ""); err != nil || n != 1 {
		t.Errorf("got %d orders and %v, want 1", n, err)
	}
}

func orderReferencesPet(t *testing.T, s Store) {
	err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Orders.Create(ctx, 1, noon)
		return err
	})
	if err == nil {
		t.Error("an order of an unknown pet: got no error")
	}
}

func petChangesFromGivenStatuses(t *testing.T, s Store) {
	change := func(id int64, from []domain.PetStatus, to domain.PetStatus) bool {
		return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) {
			return r.Pets.ChangeStatusIf(ctx, id, from, to)
		})
	}
	wantPet := func(want domain.Pet) {
		if got, err := s.Pets().Get(t.Context(), want.ID); err != nil || got != want {
			t.Errorf("Get: got %v and %v, want %v", got, err, want)
		}
	}
	statuses := []domain.PetStatus{"", domain.PetAvailable, domain.PetPending, domain.PetSold}
	for _, from := range statuses {
		for _, named := range statuses {
			pet := addPets(t, s, domain.NewPet{Name: "Rex", Status: from})[0]
			if moved := change(pet.ID, []domain.PetStatus{named}, domain.PetPending); moved != (from == named) {
				t.Errorf("ChangeStatusIf of an animal that is %q from %q: got %t", from, named, moved)
			} else if moved {
				pet.Status = domain.PetPending
			}
			wantPet(pet)
		}
	}
	pet := addPets(t, s, domain.NewPet{Name: "Rex"})[0]
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		for _, step := range []struct {
			from []domain.PetStatus
			to   domain.PetStatus
			want bool
		}{
			{nil, domain.PetSold, false},
			{[]domain.PetStatus{domain.PetAvailable, domain.PetPending}, domain.PetSold, false},
			{[]domain.PetStatus{domain.PetAvailable, ""}, domain.PetPending, true},
			{[]domain.PetStatus{domain.PetPending, ""}, domain.PetSold, true},
		} {
			if moved, err := r.Pets.ChangeStatusIf(ctx, pet.ID, step.from, step.to); err != nil || moved != step.want {
				t.Errorf("ChangeStatusIf from %q: got %t and %v, want %t", step.from, moved, err, step.want)
			}
		}
		return nil
	})
	pet.Status = domain.PetSold
	wantPet(pet)
	if change(math.MaxInt64, statuses, domain.PetSold) {
		t.Error("ChangeStatusIf of an unknown animal: got true, want false")
	}
}
