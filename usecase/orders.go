package usecase

import (
	"context"

	"example.com/petstore/domain"
)

// Orders is the sale of animals.
type Orders struct {
	orders domain.OrderReader
}

// NewOrders returns the orders of a store.
func NewOrders(orders domain.OrderReader) *Orders {
	return &Orders{orders: orders}
}

// List returns a page of the orders, or an ErrInvalid (invalid_parameter).
func (o *Orders) List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error) {
	if err := q.Validate(); err != nil {
		return domain.Page[domain.Order]{}, err
	}
	return o.orders.List(ctx, q)
}
