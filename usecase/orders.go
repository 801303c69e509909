package usecase

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

// Orders implements the operations on orders. An order and its animal change in one transaction, and only if both still
// have the expected status. So only one of several concurrent orders gets the animal.
type Orders struct {
	tx     port.Transactor
	orders port.OrderReader
	now    func() time.Time
}

// NewOrders returns Orders of a store. now is the clock.
func NewOrders(tx port.Transactor, orders port.OrderReader, now func() time.Time) *Orders {
	return &Orders{tx: tx, orders: orders, now: now}
}

// List returns a page of the orders, or an ErrInvalid (invalid_parameter). The limit is 20 when zero.
func (o *Orders) List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error) {
	q.Limit = cmp.Or(q.Limit, domain.DefaultLimit)
	if err := q.Validate(); err != nil {
		return domain.Page[domain.Order]{}, err
	}
	return o.orders.List(ctx, q)
}

// Get returns one order, or an ErrNotFound (order_not_found).
func (o *Orders) Get(ctx context.Context, id int64) (domain.Order, error) {
	return o.orders.Get(ctx, id)
}

// Place orders an animal. The animal becomes pending. When Place returns, the order is durable. A retry with the same
// idempotency key returns the first result and true. Place returns an ErrNotFound (pet_not_found), an ErrConflict
// (pet_not_available), an ErrInvalid (invalid_idempotency_key) or an ErrReused.
func (o *Orders) Place(ctx context.Context, petID int64, key domain.IdempotencyKey) (domain.Order, bool, error) {
	now := o.now()
	return once(ctx, o.tx, request{"placeOrder", petID, key}, port.Reads{Pets: []int64{petID}},
		func(ctx context.Context, r port.Repositories) (domain.Order, error) {
			return place(ctx, r, petID, now)
		})
}

// Deliver delivers a placed order. Its animal becomes sold. A repeated call changes nothing, and returns false. Deliver
// returns an ErrNotFound (order_not_found), or an ErrConflict (order_state_conflict) if the order was cancelled.
func (o *Orders) Deliver(ctx context.Context, id int64) (delivered domain.Order, changed bool, err error) {
	return o.end(ctx, id, domain.Delivery())
}

// Cancel cancels a placed order. Its animal becomes available. A repeated call changes nothing, and returns false. Cancel
// returns an ErrNotFound (order_not_found), or an ErrConflict (order_state_conflict) if the order was delivered.
func (o *Orders) Cancel(ctx context.Context, id int64) (cancelled domain.Order, changed bool, err error) {
	return o.end(ctx, id, domain.Cancellation())
}

func (o *Orders) end(ctx context.Context, id int64, t domain.Transition) (order domain.Order, changed bool, err error) {
	err = o.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		order, changed, err = end(ctx, r, id, t, o.now())
		return err
	}, port.Reads{Orders: []int64{id}})
	return order, changed && err == nil, err
}

// place makes an animal pending, if it can be ordered, and creates an order for it.
func place(ctx context.Context, r port.Repositories, petID int64, at time.Time) (domain.Order, error) {
	pet, err := r.Pets.Get(ctx, petID)
	if err != nil {
		return domain.Order{}, err
	}
	if !slices.Contains(domain.Orderable(), pet.Status) {
		return domain.Order{}, domain.PetNotAvailable(petID, pet.Status)
	}
	if err := setStatus(ctx, r, pet, domain.PetPending); err != nil {
		return domain.Order{}, err
	}
	return r.Orders.Create(ctx, petID, at)
}

// end applies a transition to an order and its animal. If the order has the status already, changed is false.
func end(
	ctx context.Context, r port.Repositories, id int64, t domain.Transition, at time.Time,
) (order domain.Order, changed bool, err error) {
	order, err = r.Orders.Get(ctx, id)
	if err != nil {
		return domain.Order{}, false, err
	}
	if order.Status != t.From {
		return order, false, t.CheckRepeat(order)
	}
	pet, err := r.Pets.Get(ctx, order.PetID)
	if err == nil && pet.Status != t.PetFrom {
		err = fmt.Errorf("the order %d is %s, but the pet %d is not %s", id, t.From, order.PetID, t.PetFrom)
	}
	if err != nil {
		return domain.Order{}, false, err
	}
	order.Status = t.To
	if at.After(order.UpdatedAt) { // otherwise the clock was set back
		order.UpdatedAt = at
	}
	if err := r.Orders.End(ctx, order); err != nil {
		return domain.Order{}, false, err
	}
	return order, true, setStatus(ctx, r, pet, t.PetTo)
}

// setStatus sets the status of an animal that the transaction has read.
func setStatus(ctx context.Context, r port.Repositories, pet domain.Pet, status domain.PetStatus) error {
	after := pet
	after.Status = status
	return r.Pets.Update(ctx, pet, after)
}
