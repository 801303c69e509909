package linearizability

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// A recordKey names an animal or an order of it.
type recordKey struct{ shelf, animal, order int }

// The orders of an animal are numbered from 0. noOrder means the animal itself. anyOrder means a stored
// order whose number is unknown, because no response to its request was read.
const noOrder, anyOrder = -1, -2

func (k recordKey) String() string {
	if k.order == noOrder {
		return fmt.Sprintf("animal %d.%d", k.shelf, k.animal)
	}
	return fmt.Sprintf("order %d of animal %d.%d", k.order, k.shelf, k.animal)
}

// maxRange is the number of ids for which a page without a link to the next page is judged. A page whose limit is
// greater than maxRange is judged for all ids.
const maxRange = 50

// noLimit is the limit of a page with all records of a store.
const noLimit = math.MaxInt

// An observation is what a page shows of the records of a shelf at one moment.
type observation struct {
	page *Operation
	seen []expectation
}

// An expectation is a record that a page shows. If absent is set, the page does not show the record with
// the id.
type expectation struct {
	recordKey
	Fields
	id     int64
	absent bool
}

// shown is what a history tells about its animals and orders.
type shown struct {
	// requests has the requests of each shelf except pages, reads without a response, and requests with 503. If the
	// history is Uncertain, it also has the writes with 503, as writes without a known outcome.
	requests            map[int][]*Operation
	animals, orders     map[int64]recordKey         // by id, from the responses to Add and Order; animals also from pages
	begun               map[recordKey]time.Duration // when the first request that may have added the record was sent
	observations        map[int][]observation       // the observations of each shelf
	animalIDs, orderIDs []int64                     // ascending
}

// shown returns what the checks need from the history.
func (h *History) shown() shown {
	s := shown{
		requests: map[int][]*Operation{}, animals: map[int64]recordKey{}, orders: map[int64]recordKey{},
		begun: map[recordKey]time.Duration{}, observations: map[int][]observation{},
	}
	for i := range h.operations {
		op := &h.operations[i]
		if op.Kind == List {
			for _, item := range op.Items {
				s.animals[item.ID] = recordKey{item.Shelf, item.Animal, noOrder}
			}
		}
		if op.Code == unavailable && h.Uncertain {
			unknown := *op
			unknown.Code, op = "", &unknown
		}
		if op.isList() || op.Code == unavailable || op.Code == "" && op.onlyReads() {
			continue
		}
		s.requests[op.Shelf] = append(s.requests[op.Shelf], op)
		for n := range op.records() {
			key := recordKey{op.Shelf, op.Animal + n, noOrder}
			ids := s.animals
			if op.Kind == Order {
				key.order, ids = op.Order, s.orders
			}
			if begun, known := s.begun[key]; !known || op.Call < begun {
				s.begun[key] = op.Call
			}
			if op.Code == ok {
				ids[op.Items[n].ID] = key
			}
		}
	}
	s.animalIDs, s.orderIDs = slices.Sorted(maps.Keys(s.animals)), slices.Sorted(maps.Keys(s.orders))
	var all *Operation
	stored := map[int][]expectation{}
	for i := range h.operations {
		page := &h.operations[i]
		if !page.isList() || page.Code != ok {
			continue
		}
		for shelf, seen := range s.seenOn(page) {
			if page.Query.Limit == noLimit { // all records of the store, read at one moment
				stored[shelf], all = append(stored[shelf], seen...), page
			} else {
				s.observations[shelf] = append(s.observations[shelf], observation{page, seen})
			}
		}
	}
	if all == nil {
		return s
	}
	for shelf := range s.requests {
		stored[shelf] = slices.Clip(stored[shelf]) // a shelf without stored records becomes a key, too
	}
	for shelf, seen := range stored {
		s.observations[shelf] = append(s.observations[shelf], observation{all, seen})
	}
	return s
}

// records returns the number of records that the operation adds.
func (op *Operation) records() int {
	return map[Kind]int{Add: len(op.Pets), Order: 1}[op.Kind]
}

// events returns the requests for a shelf, and what pages show of its records.
func (h *History) events(s shown, shelf int) (events []event) {
	add := func(op *Operation, input any) {
		e := event{op.Call, op.Return, op.Client, input}
		if op.Code == "" {
			e.end = never
		}
		events = append(events, e)
	}
	for _, op := range s.requests[shelf] {
		add(op, op)
	}
	for _, o := range s.observations[shelf] {
		add(o.page, o)
	}
	return events
}

// seenOn returns what a page shows of the records of each shelf, within the range of ids of the page. An
// order whose id is in no response to its request is left to checkListedOrders. If the page has all records
// of the store, such an order is anyOrder of its animal.
func (s shown) seenOn(page *Operation) map[int][]expectation {
	known, ids, q := s.animals, s.animalIDs, page.Query
	if page.Kind == ListOrders {
		known, ids = s.orders, s.orderIDs
	}
	seen, listed := map[int][]expectation{}, map[int64]bool{}
	for _, item := range page.Items {
		listed[item.ID] = true
		key, isKnown := known[item.ID]
		if !isKnown && q.Limit == noLimit {
			key, isKnown = s.animals[item.PetID], true
			key.order = anyOrder
		}
		if isKnown {
			seen[key.shelf] = append(seen[key.shelf], expectation{key, item.Fields, item.ID, false})
		}
	}
	for _, id := range page.ids(ids) {
		key, isKnown := known[id]
		ofAnother := q.Category != 0 && key.shelf != int(q.Category/2) ||
			q.PetID != 0 && s.animals[q.PetID] != recordKey{key.shelf, key.animal, noOrder}
		// This saves time: a page need not show a record whose first request was sent after the page was read.
		if isKnown && !listed[id] && !ofAnother && s.begun[key] < page.Return {
			seen[key.shelf] = append(seen[key.shelf], expectation{recordKey: key, id: id, absent: true})
		}
	}
	return seen
}

// ids returns the ids for which the page is judged. If the query names ids, it returns these ids. Otherwise it returns
// the elements of all that are in the range of the page. The range of a page without a link to the next page ends
// after maxRange elements, unless the limit of the page is greater.
func (op *Operation) ids(all []int64) []int64 {
	q := op.Query
	if q.IDs != nil {
		return q.IDs
	}
	from := func(id int64) (index int) { index, _ = slices.BinarySearch(all, id); return index }
	first, end := from(q.After+1), len(all)
	if q.Newest {
		first = 0
		if q.After != 0 {
			end = from(q.After)
		}
	}
	switch {
	case op.More && q.Newest:
		first = from(op.Items[len(op.Items)-1].ID)
	case op.More:
		end = from(op.Items[len(op.Items)-1].ID + 1)
	case q.Limit > maxRange:
	case q.Newest:
		first = max(first, end-maxRange)
	default:
		end = min(end, first+maxRange)
	}
	return all[first:max(first, end)]
}

// checkListedOrders checks that each order of a page belongs to the animal of its request. If the id of an
// order is in no response to its request, there must be a request without a known outcome, and the order
// must not have ended.
func (h *History) checkListedOrders(s shown) (problems []error) {
	unknown, count := map[recordKey]int{}, map[recordKey]int{} // by animal: requests without a known outcome, orders whose response was lost
	known := map[recordKey]bool{}
	for _, key := range s.orders {
		known[key] = true
	}
	for _, requests := range s.requests {
		for _, op := range requests {
			if key := (recordKey{op.Shelf, op.Animal, op.Order}); op.Kind == Order && !known[key] {
				known[key] = true
				unknown[recordKey{op.Shelf, op.Animal, noOrder}]++
			}
		}
	}
	counted := map[int64]bool{}
	for i := range h.operations {
		page := &h.operations[i]
		if page.Kind != ListOrders {
			continue
		}
		for _, item := range page.Items {
			animal, added := s.animals[item.PetID]
			key, isKnown := s.orders[item.ID]
			if key.order = noOrder; !added || isKnown && key != animal || page.Query.PetID != 0 && page.Query.PetID != item.PetID {
				problems = append(problems, fmt.Errorf("%s: the order %d has the petId %d", pathOf(page), item.ID, item.PetID))
				continue
			}
			if isKnown {
				continue
			}
			if !counted[item.ID] {
				counted[item.ID] = true
				count[animal]++
			}
			if n := count[animal]; n > unknown[animal] || item.Status != "placed" || !page.Query.selects(item.Fields) {
				problems = append(problems,
					fmt.Errorf("%s: order %d %q, which no response has returned, is the %d. of %s, for which %d requests have no known outcome",
						pathOf(page), item.ID, item.Status, n, animal, unknown[animal]))
			}
		}
	}
	return problems[:min(len(problems), 10)]
}
