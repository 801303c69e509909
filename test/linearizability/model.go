package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A shelf has animalsOfShelf animals. An animal has at most maxOrders orders.
const animalsOfShelf, maxOrders = 3, 4

// A state has the animals of a shelf, or the name of a category, as a service without concurrency would store them.
type state struct {
	animals [animalsOfShelf]animalState
	name    string // "" for a category without a name
}

// An animalState is an animal. Its id is 0 until a response has returned it.
type animalState struct {
	id             int64
	added, removed bool
	first, now     Fields // when it was added, and now
	orders         [maxOrders]orderState
}

// An orderState is an order. Its status is "" until the order is placed.
type orderState struct {
	id     int64
	status string
}

// step returns the state after an event, and whether the event is possible. An operation without a known
// outcome is possible only if it changes the state: otherwise it can be left out.
func step(now state, input any) (after state, possible bool) {
	after = now
	if o, isPage := input.(observation); isPage {
		possible = after.observe(o)
		return after, possible
	}
	op := input.(*Operation)
	possible = after.do(op)
	if op.Code == "" {
		possible = after != now
	}
	return after, possible
}

// do changes the state as the operation does, and reports whether the response is possible.
func (s *state) do(op *Operation) bool {
	switch op.Kind { //nolint:exhaustive // the others are for an animal
	case Add:
		return s.add(op)
	case Count:
		return op.Code == ok && op.Counts == s.count(op.Query.Category)
	case NameCategory, UnnameCategory:
		return s.rename(op)
	case ListCategories:
		return op.Name == s.name
	}
	a := &s.animals[op.Animal]
	if !a.added || !bind(&a.id, op.ID) {
		return false
	}
	switch order := &a.orders[op.Order]; op.Kind {
	case Get:
		return a.answer(op)
	case Correct:
		return a.correct(op)
	case Remove:
		return a.remove(op)
	case Order:
		return a.order(order, op)
	case GetOrder:
		return order.status != "" && bind(&order.id, op.OrderID) && order.answer(op, order.status)
	case Deliver:
		return a.end(order, op, "delivered", "sold")
	case Cancel:
		return a.end(order, op, "cancelled", "available")
	case Add, Count, List, ListOrders, Command, NameCategory, UnnameCategory, ListCategories:
	}
	return false
}

func (s *state) add(op *Operation) bool {
	animals := s.animals[op.Animal : op.Animal+len(op.Pets)]
	isFirst, isSame := !animals[0].added, true
	for i, fields := range op.Pets {
		isSame = isSame && animals[i].first == fields
	}
	switch {
	case op.Code == keyReused:
		return op.Keyed && !isFirst && !isSame
	case op.Code != ok && op.Code != "", !isFirst && (!op.Keyed || !isSame):
		return false
	}
	possible := op.Code == ok && op.Replayed == !isFirst
	for i, fields := range op.Pets {
		if isFirst {
			animals[i] = animalState{added: true, first: fields, now: fields}
		}
		possible = possible && op.Items[i].Fields == fields && bind(&animals[i].id, op.Items[i].ID)
	}
	return possible
}

// count returns how many animals of a category have each status.
func (s *state) count(category int64) (counts [5]int) {
	for _, a := range s.animals {
		if a.added && !a.removed && a.now.Category == int(category%2) {
			counts[slices.Index([]string{"available", "pending", "sold", ""}, a.now.Status)]++
			counts[4]++
		}
	}
	return counts
}

// rename gives the category its name, or removes it.
func (s *state) rename(op *Operation) bool {
	if op.Kind == UnnameCategory && s.name == "" {
		return op.Code == categoryNotFound
	}
	if op.Code == ok || op.Code == "" {
		s.name = op.Name
	}
	return op.Code == ok && (op.Kind == UnnameCategory || op.Categories[0].Name == op.Name)
}

// answer reports whether the response may contain the animal as it is now, or say that it does not exist.
func (a *animalState) answer(op *Operation) bool {
	if a.removed {
		return op.Code == petNotFound
	}
	return op.Code == ok && op.Items[0].Fields == a.now && bind(&a.id, op.Items[0].ID)
}

func (a *animalState) correct(op *Operation) bool {
	after := op.Patch.apply(a.now)
	switch {
	case a.removed || after == a.now:
	case op.Match != nil && *op.Match != a.now:
		return op.Code == preconditionFailed
	case after.Status != a.now.Status && a.isOrdered():
		return op.Code == petOrdered
	case op.Code == ok || op.Code == "":
		a.now = after
	}
	return a.answer(op)
}

func (a *animalState) remove(op *Operation) bool {
	switch {
	case a.removed:
		return op.Code == petNotFound
	case op.Match != nil && *op.Match != a.now:
		return op.Code == preconditionFailed
	case a.isOrdered():
		return op.Code == petOrdered
	}
	a.removed = op.Code == ok || op.Code == "" || op.removedBefore()
	return a.removed
}

// removedBefore reports whether a removal may have removed the animal at the first process, although the second process
// has not found it (see Proxied).
func (op *Operation) removedBefore() bool {
	return op.Kind == Remove && op.Code == petNotFound && op.Proxied
}

// isOrdered reports whether an order determines the status of the animal.
func (a *animalState) isOrdered() bool {
	return slices.ContainsFunc(a.orders[:], func(o orderState) bool { return o.status == "placed" || o.status == "delivered" })
}

func (a *animalState) order(order *orderState, op *Operation) bool {
	available := a.now.Status == "available" || a.now.Status == ""
	switch {
	case order.status != "": // the request has the same key, so it gets the first response
		return op.Keyed && op.Replayed && order.answer(op, "placed")
	case a.removed:
		return op.Code == petNotFound
	case op.Code == petNotAvailable:
		return !available
	case op.Code != ok && op.Code != "", !available:
		return false
	}
	a.now.Status, *order = "pending", orderState{status: "placed"}
	return !op.Replayed && order.answer(op, "placed")
}

// answer reports whether the response may contain the order with a status.
func (o *orderState) answer(op *Operation, status string) bool {
	return op.Code == ok && op.Items[0].Status == status && bind(&o.id, op.Items[0].ID)
}

// end ends an order with a status and changes the status of its animal.
func (a *animalState) end(order *orderState, op *Operation, status, petStatus string) bool {
	switch {
	case order.status == "" || !bind(&order.id, op.OrderID):
		return false
	case op.Code == stateConflict:
		return order.status != "placed" && order.status != status
	case order.status == "placed" && (op.Code == ok || op.Code == ""):
		order.status, a.now.Status = status, petStatus
	}
	return order.status == status && order.answer(op, status)
}

// observe reports whether a page may show the records of the shelf as observed, all at one moment. A page
// with all records of the store must also show every record of the shelf.
func (s *state) observe(o observation) bool {
	for _, id := range o.categories {
		if o.page.category(id).Counts != s.count(id) {
			return false
		}
	}
	for _, seen := range o.seen {
		a := &s.animals[seen.animal]
		if seen.order == anyOrder {
			if seen.order = slices.Index(a.orders[:], orderState{status: seen.Status}); seen.order < 0 {
				return false
			}
		}
		id, fields, exists := &a.id, a.now, a.added && !a.removed
		if seen.order >= 0 {
			order := &a.orders[seen.order]
			id, fields, exists = &order.id, Fields{Status: order.status}, order.status != ""
		}
		if selected := exists && o.page.Query.selects(fields); selected == seen.absent || selected && fields != seen.Fields || !bind(id, seen.id) {
			return false
		}
	}
	return o.categories != nil || o.page.Query.Limit != noLimit || !slices.ContainsFunc(s.animals[:], animalState.isMissing)
}

// isMissing reports whether the animal or one of its orders exists, but no response and no stored row has
// its id.
func (a animalState) isMissing() bool {
	return a.added && !a.removed && a.id == 0 || slices.ContainsFunc(a.orders[:], func(o orderState) bool { return o.id == 0 && o.status != "" })
}

// selects reports whether a page contains a record with these fields, if its id is in the range of the
// page.
func (q Query) selects(f Fields) bool {
	status := cmp.Or(f.Status, "none")
	return (q.Statuses == "" || slices.Contains(strings.Split(q.Statuses, ","), status)) && (q.Category == 0 || q.Category%2 == int64(f.Category))
}

// bind reports whether *id and the returned id may be equal. An unknown id is 0, and may equal every id. If
// *id is unknown, bind sets it to the returned id.
func bind(id *int64, returned int64) bool {
	*id = cmp.Or(*id, returned)
	return returned == 0 || *id == returned
}

func describe(input any) string {
	if o, isPage := input.(observation); isPage {
		text := pathOf(o.page) + ":"
		if o.page.NotModified {
			text = pathOf(o.page) + " (not modified):"
		}
		for _, seen := range o.seen {
			what := fmt.Sprintf("%+v", seen.Fields)
			if seen.absent {
				what = "missing"
			}
			text += fmt.Sprintf(" %s with the id %d %s;", seen.recordKey, seen.id, what)
		}
		for _, id := range o.categories {
			text += fmt.Sprintf(" %+v;", o.page.category(id))
		}
		return strings.TrimSuffix(text, ";")
	}
	op := input.(*Operation)
	text := fmt.Sprintf("%s %d.%d", op.Kind, op.Shelf, op.Animal)
	switch op.Kind {
	case Add:
		text += fmt.Sprintf(" as %+v", op.Pets)
	case Order, Deliver, Cancel, GetOrder:
		text += fmt.Sprint(" order ", op.Order)
	case Correct:
		text += fmt.Sprintf(" to %+v", op.Patch.apply(Fields{Variant: -1, Category: -1, Status: "as it is"}))
	case Count:
		text += " in " + pathOf(op)
	case NameCategory, UnnameCategory, ListCategories:
		text = fmt.Sprintf("%s %d %q", op.Kind, op.ID, op.Name)
	case Get, Remove, List, ListOrders, Command:
	}
	if op.Match != nil {
		text += fmt.Sprintf(" if it is %+v", *op.Match)
	}
	if op.Keyed {
		text += " with a key"
	}
	text += ": " + cmp.Or(op.Code, "unknown outcome")
	for _, item := range op.Items {
		text += fmt.Sprintf(" %d %+v", item.ID, item.Fields)
	}
	if op.Kind == Count {
		text += fmt.Sprint(" ", op.Counts)
	}
	return text
}
