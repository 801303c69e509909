package domain

import (
	"fmt"
	"time"
)

// An OrderStatus is where an order stands in its life.
type OrderStatus string

// An order is placed, and then either delivered or cancelled.
const (
	OrderPlaced    OrderStatus = "placed"
	OrderDelivered OrderStatus = "delivered"
	OrderCancelled OrderStatus = "cancelled"
)

// OrderStatusRule is the rule of an order's status in words.
const OrderStatusRule = "must be placed, delivered or cancelled"

// Known reports whether s is one of the three.
func (s OrderStatus) Known() bool {
	return s == OrderPlaced || s == OrderDelivered || s == OrderCancelled
}

// An Order is the sale of one animal. Times are UTC, exact to the millisecond.
type Order struct {
	ID        int64
	PetID     int64
	Status    OrderStatus
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Orderable are the statuses of an animal that can be ordered. The empty one is
// among them: nobody said that the animal is not to be had.
func Orderable() []PetStatus { return []PetStatus{PetAvailable, ""} }

// A Transition is one end of a placed order: what becomes of the order, and of
// the animal, together.
type Transition struct {
	From, To       OrderStatus
	PetFrom, PetTo PetStatus
}

// Delivery hands the animal over, for good: it is never sold again.
func Delivery() Transition {
	return Transition{From: OrderPlaced, To: OrderDelivered, PetFrom: PetPending, PetTo: PetSold}
}

// Cancellation gives the animal back to the catalogue.
func Cancellation() Transition {
	return Transition{From: OrderPlaced, To: OrderCancelled, PetFrom: PetPending, PetTo: PetAvailable}
}

// Repeated judges an order that the transition did not move. It returns nil when
// what it asks for is done already, else an ErrConflict (order_state_conflict).
func (t Transition) Repeated(o Order) error {
	if o.Status == t.To {
		return nil
	}
	return &Error{
		Kind: ErrConflict, Code: CodeOrderStateConflict,
		Message: fmt.Sprintf("the order with the id %d is %s and cannot become %s", o.ID, o.Status, t.To),
	}
}

// An OrderQuery asks for a page of the orders that have a status, where one is
// given, and are for a pet, where one is given.
type OrderQuery struct {
	PageRequest
	Status OrderStatus
	PetID  *int64
}

// Validate returns an ErrInvalid (invalid_parameter) that tells every broken rule.
func (q OrderQuery) Validate() error {
	broken := q.violations()
	if q.Status != "" && !q.Status.Known() {
		broken = append(broken, Violation{Field: "status", Rule: OrderStatusRule})
	}
	return Invalid(CodeInvalidParameter, broken...)
}

// OrderNotFound is the ErrNotFound for an order that does not exist.
func OrderNotFound(id int64) error {
	return &Error{Kind: ErrNotFound, Code: CodeOrderNotFound, Message: fmt.Sprintf("there is no order with the id %d", id)}
}

// PetNotAvailable is the ErrConflict for an animal that cannot be ordered.
func PetNotAvailable(id int64) error {
	return &Error{
		Kind: ErrConflict, Code: CodePetNotAvailable,
		Message: fmt.Sprintf("the pet with the id %d is not available", id),
	}
}
