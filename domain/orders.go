package domain

import "time"

// An OrderStatus is where an order stands in its life.
type OrderStatus string

// An order is placed, and then either delivered or cancelled.
const (
	OrderPlaced    OrderStatus = "placed"
	OrderDelivered OrderStatus = "delivered"
	OrderCancelled OrderStatus = "cancelled"
)

// An Order is the sale of one animal. Times are UTC, exact to the millisecond.
type Order struct {
	ID        int64
	PetID     int64
	Status    OrderStatus
	CreatedAt time.Time
	UpdatedAt time.Time
}

// An OrderQuery asks for a page of the orders.
type OrderQuery struct {
	PageRequest
}

// Validate returns an ErrInvalid (invalid_parameter) that tells every broken rule.
func (q OrderQuery) Validate() error {
	return Invalid(CodeInvalidParameter, q.violations()...)
}
