package storetest

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
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

// orderFirstPet orders the pet 1.
func orderFirstPet(ctx context.Context, r port.Repositories) error {
	_, err := r.Orders.Create(ctx, 1, noon)
	return err
}

// moveOrder changes the status of a placed order, and reports whether it did.
func moveOrder(t *testing.T, s Store, id int64, to domain.OrderStatus, at time.Time) bool {
	t.Helper()
	return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) {
		return r.Orders.ChangeStatusIf(ctx, id, domain.OrderPlaced, to, at)
	})
}

// wantOrder compares the order with the id of want with want.
func wantOrder(t *testing.T, s Store, want domain.Order) {
	t.Helper()
	got, err := s.Orders().Get(t.Context(), want.ID)
	testkit.Equal(t, "Get", want, got, err)
}

func orderChangesStatusOnce(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	orders := placeOrders(t, s, 2, 1)
	testkit.Equal(t, "Create", domain.Order{ID: 1, PetID: 2, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon}, orders[0])
	wantOrder(t, s, orders[0])
	later := noon.Add(time.Hour)
	for _, step := range []struct {
		id   int64
		to   domain.OrderStatus
		at   time.Time
		want bool
	}{
		{1, domain.OrderDelivered, later, true},
		{1, domain.OrderCancelled, later.Add(time.Hour), false},
		{2, domain.OrderCancelled, noon, true}, // the clock was set back: the times of the order do not go back
		{3, domain.OrderCancelled, later, false},
	} {
		testkit.Equal(t, fmt.Sprintf("ChangeStatusIf of the order %d to %s", step.id, step.to), step.want, moveOrder(t, s, step.id, step.to, step.at))
	}
	orders[0].Status, orders[0].UpdatedAt, orders[1].Status = domain.OrderDelivered, later, domain.OrderCancelled
	wantOrder(t, s, orders[0])
	wantOrder(t, s, orders[1])
	for _, id := range []int64{3, 0, math.MaxInt64, math.MinInt64} {
		_, err := s.Orders().Get(t.Context(), id)
		wantCode(t, err, domain.ErrNotFound, "order_not_found")
	}
}

// petHasOneUncancelledOrder does not change the status of the animal, because that does not matter here.
func petHasOneUncancelledOrder(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	placeOrders(t, s, 1, 2)
	wantCode(t, s.InTx(t.Context(), orderFirstPet), domain.ErrConflict, "pet_not_available")
	moveOrder(t, s, 1, domain.OrderCancelled, noon)
	again := placeOrders(t, s, 1)[0]
	testkit.Equal(t, "ChangeStatusIf of a placed order", true, moveOrder(t, s, again.ID, domain.OrderDelivered, noon))
	wantCode(t, s.InTx(t.Context(), orderFirstPet), domain.ErrConflict, "pet_not_available")
}

// rejectedOrderLeavesTheTransaction places an order that is rejected, with changes before and after it in
// the same transaction. The changes are committed.
func rejectedOrderLeavesTheTransaction(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"})
	placeOrders(t, s, 1)
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		for _, name := range []string{"before", "after"} {
			if _, err := r.Pets.Create(ctx, []domain.NewPet{{Name: name}}); err != nil {
				return err
			}
			wantCode(t, orderFirstPet(ctx, r), domain.ErrConflict, "pet_not_available")
		}
		return nil
	})
	wantPet(t, s, domain.Pet{ID: 2, Name: "before"})
	wantPet(t, s, domain.Pet{ID: 3, Name: "after"})
	n, err := s.Orders().Count(t.Context(), "")
	testkit.Equal(t, "the number of orders", int64(1), n, err)
}

func petChangesFromGivenStatuses(t *testing.T, s Store) {
	statuses := []domain.PetStatus{"", domain.PetAvailable, domain.PetPending, domain.PetSold}
	for _, from := range statuses {
		for _, named := range statuses {
			pet := addPets(t, s, domain.NewPet{Name: "Rex", Status: from})[0]
			if moved := movePet(t, s, pet.ID, domain.PetPending, named); moved != (from == named) {
				t.Errorf("ChangeStatusIf of an animal that is %q from %q: got %t", from, named, moved)
			} else if moved {
				pet.Status = domain.PetPending
			}
			wantPet(t, s, pet)
		}
	}
	pet := addPets(t, s, domain.NewPet{Name: "Rex"})[0]
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
		testkit.Equal(t, fmt.Sprintf("ChangeStatusIf from %q", step.from), step.want, movePet(t, s, pet.ID, step.to, step.from...))
	}
	pet.Status = domain.PetSold
	wantPet(t, s, pet)
	testkit.Equal(t, "ChangeStatusIf of an unknown animal", false, movePet(t, s, math.MaxInt64, domain.PetSold, statuses...))
}
