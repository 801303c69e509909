package domain

import (
	"fmt"
	"slices"
	"time"
)

// An OrderStatus is the status of an order.
type OrderStatus string // @name OrderStatus

// The statuses. An order is placed, and then either delivered or cancelled.
const (
	OrderPlaced    OrderStatus = "placed"
	OrderDelivered OrderStatus = "delivered"
	OrderCancelled OrderStatus = "cancelled"
)

// The rules for the status of an order, and for OrderQuery.Statuses, for error messages.
const (
	OrderStatusRule   = "must be placed, delivered or cancelled"
	OrderStatusesRule = "must be one or more of placed, delivered and cancelled, each once"
)

// OrderStatuses returns all statuses.
func OrderStatuses() []OrderStatus { return []OrderStatus{OrderPlaced, OrderDelivered, OrderCancelled} }

// Known reports whether s is one of OrderStatuses.
func (s OrderStatus) Known() bool { return slices.Contains(OrderStatuses(), s) }

// An Order is the sale of one animal. Times are UTC, in milliseconds. The store keeps its JSON as the result of an
// idempotency key, see Pet.
type Order struct {
	ID        int64       `json:"id"`
	PetID     int64       `json:"petId"`
	Status    OrderStatus `json:"status"`
	CreatedAt time.Time   `json:"createdAt"`
	UpdatedAt time.Time   `json:"updatedAt"`
}

// Orderable returns the statuses in which an animal can be ordered. The empty status is one of them.
func Orderable() []PetStatus { return []PetStatus{PetAvailable, ""} }

// A Transition ends a placed order: it changes the status of the order and the status of its animal together.
type Transition struct {
	From, To       OrderStatus
	PetFrom, PetTo PetStatus
}

// Delivery returns the transition that delivers an order. Its animal becomes sold.
func Delivery() Transition {
	return Transition{From: OrderPlaced, To: OrderDelivered, PetFrom: PetPending, PetTo: PetSold}
}

// Cancellation returns the transition that cancels an order. Its animal becomes available.
func Cancellation() Transition {
	return Transition{From: OrderPlaced, To: OrderCancelled, PetFrom: PetPending, PetTo: PetAvailable}
}

// CheckRepeat is called for an order that does not have the status t.From. It returns nil if the order already has the status
// t.To, as after a retry, and an ErrConflict (order_state_conflict) otherwise.
func (t Transition) CheckRepeat(o Order) error {
	if o.Status == t.To {
		return nil
	}
	return &Error{
		Kind: ErrConflict, Code: CodeOrderStateConflict,
		Message: fmt.Sprintf("the order with the id %d is %s and cannot become %s", o.ID, o.Status, t.To),
	}
}

// An OrderQuery selects a page of the orders. If Statuses is not empty, an order must have one of them. If PetID is
// not nil, the order must be for this animal. If IDs is not nil, the order must have one of these ids: then the page has all
// selected orders, whatever After and Limit are.
type OrderQuery struct {
	PageRequest
	IDs      []int64
	Statuses []OrderStatus
	PetID    *int64
}

// Validate returns an ErrInvalid (invalid_parameter) that lists every violation.
func (q OrderQuery) Validate() error {
	violations := q.violationsOf(q.IDs)
	if !areDistinct(q.Statuses, OrderStatus.Known) {
		violations = append(violations, Violation{Field: "status", Rule: OrderStatusesRule})
	}
	return Invalid(CodeInvalidParameter, violations...)
}

// Selects reports whether the filters Statuses and PetID select an order. It ignores IDs.
func (q OrderQuery) Selects(o Order) bool {
	return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, o.Status)) && (q.PetID == nil || *q.PetID == o.PetID)
}

// OrderNotFound returns the ErrNotFound for an order that does not exist.
func OrderNotFound(id int64) error {
	return &Error{Kind: ErrNotFound, Code: CodeOrderNotFound, Message: fmt.Sprintf("there is no order with the id %d", id)}
}

// PetOrdered returns the ErrConflict for an animal that cannot be removed, and whose status cannot be changed, because it
// has a placed or delivered order. status is the status of the animal: a delivered order has made it sold.
func PetOrdered(id int64, status PetStatus) error {
	message := "the pet with the id %d has a placed order: cancel that order before you change the status of the pet or remove it"
	if status == PetSold {
		message = "the pet with the id %d is sold by an order: it stays, and stays sold. If the animal comes back, add it again"
	}
	return &Error{Kind: ErrConflict, Code: CodePetOrdered, Message: fmt.Sprintf(message, id)}
}

// PetNotAvailable returns the ErrConflict for an animal that cannot be ordered, because of its status or because it
// has an order already.
func PetNotAvailable(id int64, status PetStatus) error {
	reason := "it is pending"
	if status == PetSold {
		reason = "it is sold"
	}
	return &Error{
		Kind: ErrConflict, Code: CodePetNotAvailable,
		Message: fmt.Sprintf("the pet with the id %d is not available: %s", id, reason),
	}
}
