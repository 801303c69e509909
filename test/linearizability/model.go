package linearizability

import (
	"cmp"
	"fmt"
)

// maxOrders is how many orders of an animal the model remembers.
const maxOrders = 6

// A state is an animal with its orders, as a service without concurrency has it.
type state struct {
	variant string // of the request that added it
	id      int64  // 0 until a response has returned it
	status  string // none until it is added
	orders  [maxOrders]orderState
}

// An orderState has the status "" until the order is placed.
type orderState struct {
	id     int64
	status string
}

// An observation is what a page has of an animal or an order: the record, or that it is not there with the status of
// the filter, or with any if that is empty.
type observation struct {
	recordKey
	id      int64
	variant string // of an animal
	status  string
	absent  bool
	page    *Operation
}

// step returns the state after an event, and whether the event is possible. An operation whose outcome is unknown is possible if it
// changes something: else it need not have been done.
func step(now state, input any) (after state, possible bool) {
	after = now
	if o, isPage := input.(observation); isPage {
		possible = after.observe(o)
		return after, possible
	}
	op := input.(Operation)
	possible = after.do(op)
	if op.Code == "" {
		possible = after != now
	}
	return after, possible
}

// do changes the state as the operation does, and reports whether its response is possible.
func (s *state) do(op Operation) bool {
	if op.Kind == Add {
		return s.add(op)
	}
	if s.status == none || !bind(&s.id, op.PetID) {
		return false
	}
	order := &s.orders[op.Order]
	switch op.Kind {
	case Get:
		return op.Code == ok && op.PetStatus == s.status && op.Variant == s.variant
	case Order:
		return s.order(order, op)
	case GetOrder:
		return op.Code == ok && op.OrderStatus == order.status && bind(&order.id, op.OrderID)
	case Deliver:
		return s.end(order, op, "delivered", "sold")
	case Cancel:
		return s.end(order, op, "cancelled", "available")
	case Add, List, ListOrders:
	}
	return false
}

func (s *state) add(op Operation) bool {
	switch {
	case op.Code == "idempotency_key_reused":
		return op.Keyed && s.status != none && s.variant != op.Variant
	case op.Code != ok && op.Code != "":
		return false
	case s.status == none:
		*s = state{variant: op.Variant, id: op.PetID, status: op.Variant}
		return op.Code == "" || op.PetStatus == op.Variant && !op.Replayed
	}
	return op.Keyed && op.Replayed && s.variant == op.Variant && op.PetStatus == op.Variant && bind(&s.id, op.PetID)
}

func (s *state) order(order *orderState, op Operation) bool {
	available := s.status == "available" || s.status == ""
	switch {
	case order.status != "": // the same key: the first response
		return op.Keyed && op.Replayed && op.Code == ok && op.OrderStatus == "placed" && bind(&order.id, op.OrderID)
	case op.Code == "pet_not_available":
		return !available
	case op.Code != ok && op.Code != "", !available:
		return false
	}
	s.status, *order = "pending", orderState{op.OrderID, "placed"}
	return op.Code == "" || op.OrderStatus == "placed" && !op.Replayed
}

// end ends an order with a status, and gives the animal another one.
func (s *state) end(order *orderState, op Operation, status, petStatus string) bool {
	if order.status == "" || !bind(&order.id, op.OrderID) {
		return false
	}
	if op.Code == "order_state_conflict" {
		return order.status != "placed" && order.status != status
	}
	if order.status == "placed" && (op.Code == ok || op.Code == "") {
		order.status, s.status = status, petStatus
	}
	return op.Code == ok && order.status == status && op.OrderStatus == status
}

// observe reports whether a page may have that of the animal or its order.
func (s *state) observe(o observation) bool {
	id, status, variant := &s.id, s.status, s.variant
	if o.order != noOrder {
		order := &s.orders[o.order]
		id, status, variant = &order.id, cmp.Or(order.status, none), ""
	}
	return o.isPossible(status) && (o.absent || bind(id, o.id) && o.variant == variant)
}

// isPossible reports whether the page may have that of a record with a status, or none.
func (o observation) isPossible(status string) bool {
	isSelected := status != none && (o.page.Filter == "" || o.page.Filter == status)
	return isSelected == !o.absent && (o.absent || o.status == status)
}

// bind reports whether an id may be that of a response. An id that no response has returned yet becomes it.
func bind(id *int64, returned int64) bool {
	if returned != 0 {
		*id = cmp.Or(*id, returned)
	}
	return returned == 0 || *id == returned
}

func describe(input any) string {
	if o, isPage := input.(observation); isPage {
		response, what := ok, fmt.Sprintf("%q", o.status)
		if o.page.NotModified {
			response = "not modified"
		}
		if o.absent {
			what = "missing"
		}
		return fmt.Sprintf("%s (%s): %s with the id %d %s", pathOf(o.page), response, o.recordKey, o.id, what)
	}
	op := input.(Operation)
	what := string(op.Kind)
	switch op.Kind {
	case Add:
		what += fmt.Sprintf(" %q", op.Variant)
	case Order, Deliver, Cancel, GetOrder:
		what += fmt.Sprint(" order ", op.Order)
	case Get, List, ListOrders:
	}
	if op.Keyed {
		what += " with a key"
	}
	return fmt.Sprintf("%s: %s %d %q", what, cmp.Or(op.Code, "unknown outcome"), cmp.Or(op.OrderID, op.PetID), op.PetStatus+op.OrderStatus)
}
