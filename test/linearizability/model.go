package linearizability

import (
	"cmp"
	"fmt"

	"github.com/anishathalye/porcupine"
)

// maxOrders is how many orders of an animal the model remembers.
const maxOrders = 6

// A state is an animal with its orders, as a service without concurrency has it.
type state struct {
	added   bool
	variant string // of the request that added it
	id      int64  // 0 until a response has returned it
	status  string
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

// model has an animal in each partition.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, input, _ any) (bool, any) {
		s := before.(state)
		if o, isPage := input.(observation); isPage {
			possible := s.observe(o)
			return possible, s
		}
		op := input.(Operation)
		possible := s.step(op)
		if op.Code == "" { // it may have been done, or not: it ends after all others
			return true, s
		}
		return possible, s
	},
	DescribeOperation: func(input, _ any) string { return describe(input) },
	DescribeState: func(any any) string {
		s := any.(state)
		if !s.added {
			return none
		}
		return fmt.Sprintf("%d %q %v", s.id, s.status, s.orders)
	},
}

// step changes the state as the operation does, and reports whether its response is possible.
func (s *state) step(op Operation) bool {
	if op.Kind == Add {
		return s.add(op)
	}
	if !s.added || !bind(&s.id, op.PetID) {
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
		return op.Keyed && s.added && s.variant != op.Variant
	case op.Code != ok && op.Code != "":
		return false
	case !s.added:
		*s = state{added: true, variant: op.Variant, id: op.PetID, status: op.Variant}
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
	id, status, added := &s.id, s.status, s.added
	if o.order != noOrder {
		order := &s.orders[o.order]
		id, status, added = &order.id, order.status, order.status != ""
	}
	if o.absent {
		return !added || !o.selects(status)
	}
	return added && bind(id, o.id) && o.status == status && o.selects(status) && (o.order != noOrder || o.variant == s.variant)
}

// selects reports whether the filter of the page selects a status.
func (o observation) selects(status string) bool {
	return o.page.Filter == "" || o.page.Filter == status
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
		response := ok
		if o.page.NotModified {
			response = "not modified"
		}
		what := fmt.Sprintf("%q", o.status)
		if o.absent {
			what = "missing"
		}
		return fmt.Sprintf("%s (%s): %s with the id %d %s", pathOf(o.page), response, o.recordKey, o.id, what)
	}
	op := input.(Operation)
	response := cmp.Or(op.Code, "unknown outcome")
	switch {
	case op.Kind != Add && op.Kind != Get:
		return fmt.Sprintf("%s order %d%s: %s %q", op.Kind, op.Order, map[bool]string{true: " with a key"}[op.Keyed], response, op.OrderStatus)
	case op.Kind == Add:
		return fmt.Sprintf("add %q%s: %s %d %q", op.Variant, map[bool]string{true: " with a key"}[op.Keyed], response, op.PetID, op.PetStatus)
	}
	return fmt.Sprintf("get: %s %q", response, op.PetStatus)
}
