package linearizability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// A recordKey is an order of an animal, or the animal itself.
type recordKey struct{ animal, order int }

// noOrder is the number before that of the first order: of the animal itself.
const noOrder = -1

func (k recordKey) String() string {
	if k.order == noOrder {
		return fmt.Sprintf("animal-%d", k.animal)
	}
	return fmt.Sprintf("order %d of animal-%d", k.order, k.animal)
}

// maxRange is how many ids a page without a next one is judged for, and the limit of the pages of ReadAll.
const maxRange = 100

// shown is what the requests and responses of a history have of its animals and orders.
type shown struct {
	requests        map[int][]Operation // of each animal, without pages and reads without a response
	animals, orders map[int64]recordKey // by the id in a response to their request, animals also by that in pages
	changes         map[recordKey][]change
	observations    []observation // of all pages
}

// shown returns what the checks need of the history.
func (h *History) shown() shown {
	s := shown{map[int][]Operation{}, map[int64]recordKey{}, map[int64]recordKey{}, map[recordKey][]change{}, nil}
	for _, op := range h.operations {
		if op.Kind == List {
			for _, item := range op.Page {
				s.animals[item.ID] = recordKey{item.Animal, noOrder}
			}
		}
		if op.isList() || op.Code == "" && (op.Kind == Get || op.Kind == GetOrder) {
			continue
		}
		switch {
		case op.Code == ok && op.Kind == Add:
			s.animals[op.PetID] = recordKey{op.Animal, noOrder}
		case op.Code == ok && op.Kind == Order:
			s.orders[op.OrderID] = recordKey{op.Animal, op.Order}
		}
		s.requests[op.Animal] = append(s.requests[op.Animal], op)
	}
	for animal, all := range s.requests {
		for order := noOrder; order < maxOrders; order++ {
			s.changes[recordKey{animal, order}] = changesOf(all, order)
		}
	}
	for i := range h.operations {
		if page := &h.operations[i]; page.isList() && page.Code == ok {
			s.observations = append(s.observations, s.observationsOf(page)...)
		}
	}
	return s
}

// partition returns for each animal the requests and what pages show of it and its orders, unless checkAges judges that.
func (h *History) partition(s shown) map[int][]event {
	partitions := map[int][]event{}
	add := func(animal int, op *Operation, input any) {
		end := op.Return
		if op.Code == "" {
			end = math.MaxInt64
		}
		partitions[animal] = append(partitions[animal], event{op.Call, end, op.Client, input})
	}
	for animal, all := range s.requests {
		for _, op := range all {
			add(animal, &op, op)
		}
	}
	for _, o := range s.observations {
		if !h.SharedFile || !changedByOthers(o.page.Process, s.changes[o.recordKey]) {
			add(o.animal, o.page, o)
		}
	}
	return partitions
}

// observationsOf returns what a page has of the records within its range of ids. Orders whose id no response has returned are left
// to checkListedOrders.
func (s shown) observationsOf(page *Operation) (all []observation) {
	known := s.animals
	if page.Kind == ListOrders {
		known = s.orders
	}
	last := page.After + maxRange
	if page.More && len(page.Page) > 0 {
		last = page.Page[len(page.Page)-1].ID
	}
	listed := map[int64]bool{}
	for _, item := range page.Page {
		listed[item.ID] = true
		if key, isKnown := known[item.ID]; isKnown {
			all = append(all, observation{recordKey: key, id: item.ID, variant: item.Variant, status: item.Status, page: page})
		}
	}
	for id := page.After + 1; id <= last; id++ {
		key, isKnown := known[id]
		// To save time: the page need not show a record whose first request was sent after it.
		if !isKnown || listed[id] || len(s.changes[key]) < 2 || s.changes[key][1].begin >= page.Return {
			continue
		}
		if page.PetID == 0 || s.animals[page.PetID].animal == key.animal {
			all = append(all, observation{recordKey: key, id: id, absent: true, page: page})
		}
	}
	return all
}

// checkListedOrders checks that the orders of a page are of the animals of their requests. An order whose id no response has
// returned must be of a request without a known outcome, and nobody can have ended it.
func (h *History) checkListedOrders(s shown) (problems []error) {
	unknown := map[int]int{} // requests of each animal
	for key, changes := range s.changes {
		if key.order != noOrder && len(changes) > 1 && changes[1].end == math.MaxInt64 {
			unknown[key.animal]++
		}
	}
	type unanswered struct {
		animal int
		id     int64
	}
	listed, count := map[unanswered]bool{}, map[int]int{} // orders without a response, and how many each animal has
	for i := range h.operations {
		page := &h.operations[i]
		if page.Kind != ListOrders {
			continue
		}
		for _, item := range page.Page {
			animal, added := s.animals[item.PetID]
			key, isKnown := s.orders[item.ID]
			if !added || isKnown && key.animal != animal.animal || page.PetID != 0 && page.PetID != item.PetID {
				problems = append(problems, fmt.Errorf("%s: the order %d has the petId %d", pathOf(page), item.ID, item.PetID))
				continue
			}
			if isKnown {
				continue
			}
			if order := (unanswered{animal.animal, item.ID}); !listed[order] {
				listed[order] = true
				count[animal.animal]++
			}
			if n := count[animal.animal]; n > unknown[animal.animal] || item.Status != "placed" || page.Filter != "" && page.Filter != "placed" {
				problems = append(problems,
					fmt.Errorf("%s: order %d %q, which no response has returned, is the %d. of %s, for which %d requests have no known outcome",
						pathOf(page), item.ID, item.Status, n, animal, unknown[animal.animal]))
			}
		}
	}
	return problems[:min(len(problems), 10)]
}

// maxStaleness is how old a page may be, as to writes of other processes on the same SQLite file (docs/reliability.md).
const maxStaleness = 100 * time.Millisecond

// none is the status of an animal or an order that is not there yet.
const none = "none"

// A change gives an animal or an order a status at some moment from begin to end, which is math.MaxInt64 if that is not known.
type change struct {
	status     string
	begin, end time.Duration
	process    int // that made it, or -1 if several got the request
}

// changedByOthers reports whether another process than this one may have changed an animal or an order.
func changedByOthers(process int, changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.status != none && c.process != process })
}

// checkAges returns a problem for each page that shows of an animal or an order what another process had changed longer than
// maxStaleness before its request, or its own process before its request. The model does not judge such pages: so many overlap
// within maxStaleness that it takes too long.
func (h *History) checkAges(s shown) (problems []error) {
	if !h.SharedFile {
		return nil
	}
	for _, o := range s.observations {
		changes := s.changes[o.recordKey]
		if !changedByOthers(o.page.Process, changes) {
			continue
		}
		statuses := possibleStatuses(changes, o.page)
		if !slices.ContainsFunc(statuses, o.isPossible) {
			problems = append(problems,
				fmt.Errorf("%s, sent to process %d at %v, is not possible, but %q", describe(o), o.page.Process, o.page.Call, statuses))
		}
	}
	return problems[:min(len(problems), 10)]
}

// possibleStatuses returns the statuses that a page may show: those of changes that had begun, and that no later
// change had certainly replaced, which the page must show.
func possibleStatuses(changes []change, page *Operation) (statuses []string) {
	for _, c := range changes {
		replaced := slices.ContainsFunc(changes, func(later change) bool {
			mustBeShown := later.end < page.Call-maxStaleness || later.process == page.Process && later.end < page.Call
			return c.end < later.begin && mustBeShown
		})
		if c.begin < page.Return && !replaced {
			statuses = append(statuses, c.status)
		}
	}
	return statuses
}

// changesOf returns the changes of an order, or of the animal, that succeeded or may have. Repeated requests are one change, which
// began with the first of them, and had ended when the first response was read. The first is that it is not there, the others
// are in the order in which they began.
func changesOf(requests []Operation, order int) []change {
	changes := []change{{none, math.MinInt64, math.MinInt64, -1}}
	type request struct {
		Kind
		order   int
		variant string // of an Add
	}
	index := map[request]int{}
	for _, op := range requests {
		status, isChange := op.newStatus(order)
		if !isChange || op.Code != ok && op.Code != "" {
			continue
		}
		r := request{op.Kind, op.Order, op.Variant}
		i, known := index[r]
		if !known {
			i = len(changes)
			index[r] = i
			changes = append(changes, change{status, op.Call, math.MaxInt64, op.Process})
		}
		if op.Call > changes[i].end {
			continue // it repeats what had been done
		}
		if changes[i].process != op.Process {
			changes[i].process = -1
		}
		changes[i].begin = min(changes[i].begin, op.Call)
		if op.Code == ok {
			changes[i].end = min(changes[i].end, op.Return)
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.begin, b.begin) })
	return changes
}

// newStatus returns the status that a request gives the order, or the animal, and whether it gives it one.
func (op Operation) newStatus(order int) (status string, isChange bool) {
	switch {
	case order == noOrder && op.Kind == Add:
		return op.Variant, true
	case order == noOrder:
		status = map[Kind]string{Order: "pending", Deliver: "sold", Cancel: "available"}[op.Kind]
	case op.Order == order:
		status = map[Kind]string{Order: "placed", Deliver: "delivered", Cancel: "cancelled"}[op.Kind]
	}
	return status, status != ""
}
