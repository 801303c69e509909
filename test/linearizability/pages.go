package linearizability

import (
	"cmp"
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

// An observation is what a page shows of the records of a shelf, or of the numbers of its animals, at one moment.
type observation struct {
	page       *Operation
	seen       []expectation
	categories []int64 // the categories of the shelf that are in the range of the page
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
	names               map[int64][]*Operation      // by category: the requests for its name, and the pages that show it
	begun               map[recordKey]time.Duration // when the first request that may have added the record was sent
	observations        map[int][]observation       // the observations of each shelf
	animalIDs, orderIDs []int64                     // ascending
}

// shown returns what the checks need from the history.
func (h *History) shown() shown {
	s := shown{
		requests: map[int][]*Operation{}, animals: map[int64]recordKey{}, orders: map[int64]recordKey{},
		names: map[int64][]*Operation{}, begun: map[recordKey]time.Duration{}, observations: map[int][]observation{},
	}
	for i := range h.operations {
		op := &h.operations[i]
		if op.Kind == List {
			for _, item := range op.Items {
				if item.Name == "" {
					s.animals[item.ID] = recordKey{item.Shelf, item.Animal, noOrder}
				}
			}
		}
		if op.Code == unavailable && h.Uncertain {
			unknown := *op
			unknown.Code, op = "", &unknown
		}
		if op.isList() || op.Shelf == 0 || op.Code == unavailable || op.Code == "" && op.onlyReads() {
			continue
		}
		if op.Kind == NameCategory || op.Kind == UnnameCategory {
			s.names[op.ID] = append(s.names[op.ID], op)
			if op.Categories == nil {
				continue
			}
			counts := Response{Code: ok, Counts: op.Categories[0].Counts}
			op = &Operation{
				Client: op.Client, Kind: Count, Shelf: op.Shelf, Query: Query{Category: op.ID}, Call: op.Call, Return: op.Return, Response: counts,
			}
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
				s.observations[shelf] = append(s.observations[shelf], observation{page: page, seen: seen})
			}
		}
	}
	h.observeCategories(s)
	if all == nil {
		return s
	}
	for shelf := range s.requests {
		stored[shelf] = slices.Clip(stored[shelf]) // a shelf without stored records becomes a key, too
	}
	for shelf, seen := range stored {
		s.observations[shelf] = append(s.observations[shelf], observation{page: all, seen: seen})
	}
	return s
}

// observeCategories adds what pages of categories show of the animals of each shelf, and of each name. A page need not show a
// shelf whose first request was sent after the page was read.
func (h *History) observeCategories(s shown) {
	for shelf, requests := range s.requests {
		begun := slices.MinFunc(requests, func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) }).Call
		for i := range h.operations {
			page := &h.operations[i]
			if page.Kind != ListCategories || page.Code != ok || page.Return < begun {
				continue
			}
			var inRange []int64
			for _, id := range []int64{int64(2 * shelf), int64(2*shelf + 1)} {
				n := len(page.Categories)
				if id > page.Query.After && (!page.More || n > 0 && id <= page.Categories[n-1].ID) {
					name := *page
					name.ID, name.Name = id, page.category(id).Name
					s.names[id], inRange = append(s.names[id], &name), append(inRange, id)
				}
			}
			if inRange != nil {
				s.observations[shelf] = append(s.observations[shelf], observation{page: page, categories: inRange})
			}
		}
	}
}

// category returns a category as a page of categories shows it. A category that is not on the page has neither a name nor an
// animal.
func (op *Operation) category(id int64) Category {
	i, listed := slices.BinarySearchFunc(op.Categories, id, func(c Category, id int64) int { return cmp.Compare(c.ID, id) })
	if !listed {
		return Category{ID: id}
	}
	return op.Categories[i]
}

// records returns the number of records that the operation adds.
func (op *Operation) records() int {
	return map[Kind]int{Add: len(op.Pets), Order: 1}[op.Kind]
}

// An object is a shelf, or the name of a category, with the requests for it and what pages show of it. Each object is judged by
// itself: a history is possible if it is possible for each object (Herlihy and Wing, 1990).
type object struct {
	name   string
	events []event
}

// objects returns all shelves, and then the names of all categories.
func (s shown) objects() (all []object) {
	shelves := slices.AppendSeq(slices.Collect(maps.Keys(s.requests)), maps.Keys(s.observations))
	slices.Sort(shelves)
	for _, shelf := range slices.Compact(shelves) {
		o := object{name: fmt.Sprint("shelf ", shelf)}
		for _, op := range s.requests[shelf] {
			o.add(op, op)
		}
		for _, seen := range s.observations[shelf] {
			o.add(seen.page, seen)
		}
		all = append(all, o)
	}
	for _, id := range slices.Sorted(maps.Keys(s.names)) {
		o := object{name: fmt.Sprint("category ", id)}
		for _, op := range s.names[id] {
			o.add(op, op)
		}
		all = append(all, o)
	}
	return all
}

func (o *object) add(op *Operation, input any) {
	e := event{op.Call, op.Return, op.Client, input}
	if op.Code == "" {
		e.end = never
	}
	o.events = append(o.events, e)
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
		if item.Name != "" {
			continue
		}
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
