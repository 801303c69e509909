package storetest

import (
	"context"
	"math"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
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

// endOrder sets the status of a placed order, and returns the order.
func endOrder(t *testing.T, s Store, order domain.Order, to domain.OrderStatus, at time.Time) domain.Order {
	t.Helper()
	order.Status, order.UpdatedAt = to, at
	inTx(t, s, func(ctx context.Context, r port.Repositories) error { return r.Orders.End(ctx, order) })
	return order
}

// wantOrder compares the order with the id of want with want.
func wantOrder(t *testing.T, s Store, want domain.Order) {
	t.Helper()
	got, err := s.Orders().Get(t.Context(), want.ID)
	testkit.Equal(t, "Get", want, got, err)
}

func orderIsReadAsItHasEnded(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	orders := placeOrders(t, s, 2, 1)
	testkit.Equal(t, "Create", domain.Order{ID: 1, PetID: 2, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon}, orders[0])
	wantOrder(t, s, orders[0])
	wantOrder(t, s, endOrder(t, s, orders[0], domain.OrderDelivered, noon.Add(time.Hour)))
	wantOrder(t, s, endOrder(t, s, orders[1], domain.OrderCancelled, noon))
	for _, id := range []int64{3, 0, math.MaxInt64, math.MinInt64} {
		_, err := s.Orders().Get(t.Context(), id)
		wantCode(t, err, domain.ErrNotFound, "order_not_found")
	}
}

// petHasOneUncancelledOrder does not change the status of the animal, which protects it first. The unique index protects it
// from a defect.
func petHasOneUncancelledOrder(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	order := placeOrders(t, s, 1, 2)[0]
	wantRejected := func() {
		t.Helper()
		if err := s.InTx(t.Context(), orderFirstPet); err == nil {
			t.Error("the animal has two orders")
		}
	}
	wantRejected()
	endOrder(t, s, order, domain.OrderCancelled, noon)
	endOrder(t, s, placeOrders(t, s, 1)[0], domain.OrderDelivered, noon)
	wantRejected()
	n, err := s.Orders().Count(t.Context(), "")
	testkit.Equal(t, "the number of orders", int64(3), n, err)
}
