package linearizability

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// A recordKey is an order of an animal, or the animal itself.
type recordKey struct{ animal, order int }

// The numbers that are not those of an order: that of an animal, and that of an order whose id no response to its request has returned.
const noOrder, unknownOrder = -1, -2

// The longest part of a list that a page without a next one is asked for, in ids.
const maxRange = 100

// shown is what the responses of a history have of its animals and orders.
type shown struct {
	animals, orders map[int64]recordKey // by id
	changes         map[recordKey][]change
}

// partition returns the requests of each animal with what pages show of it and its orders, and a problem for each page that shows
// what it cannot, or is older than a shared file allows.
func (h *History) partition() (partitions map[int][]porcupine.Operation, problems []error) {
	partitions = map[int][]porcupine.Operation{}
	requests := map[int][]Operation{} // of each animal
	s := shown{map[int64]recordKey{}, map[int64]recordKey{}, map[recordKey][]change{}}
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
		end := int64(op.Return)
		if op.Code == "" {
			end = math.MaxInt64
		}
		requests[op.Animal] = append(requests[op.Animal], op)
		partitions[op.Animal] = append(partitions[op.Animal], porcupine.Operation{ClientId: op.Client, Input: op, Call: int64(op.Call), Return: end})
	}
	for animal, all := range requests {
		for order := noOrder; order < maxOrders; order++ {
			s.changes[recordKey{animal, order}] = changesOf(all, order)
		}
	}
	for i := range h.operations {
		page := &h.operations[i]
		if !page.isList() || page.Code != ok {
			continue
		}
		observations, err := s.observations(page)
		if err != nil {
			problems = append(problems, err)
		}
		for _, o := range observations {
			changes := s.changes[o.recordKey]
			if !h.SharedFile || o.order != unknownOrder && !changedByOthers(page.Process, changes) {
				partitions[o.animal] = append(partitions[o.animal], porcupine.Operation{ClientId: page.Client, Input: o, Call: int64(page.Call), Return: int64(page.Return)})
			} else if err := checkAge(page, o, changes); o.order != unknownOrder && err != nil {
				problems = append(problems, fmt.Errorf("animal-%d: %w", o.animal, err))
			}
		}
	}
	return partitions, problems[:min(len(problems), 10)]
}

// observations returns what a page has of the records within its range of ids, and an error if it has an order that it cannot have.
func (s shown) observations(page *Operation) (all []observation, err error) {
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
		key, isKnown := known[item.ID]
		if page.Kind == ListOrders {
			animal, added := s.animals[item.PetID]
			if !added || isKnown && key.animal != animal.animal || page.PetID != 0 && page.PetID != item.PetID {
				err = fmt.Errorf("a page of the orders of animal %d (0: of all) has the order %d of animal %d", page.PetID, item.ID, item.PetID)
				continue
			}
			if !isKnown {
				key = recordKey{animal.animal, unknownOrder}
			}
		}
		all = append(all, observation{Item: item, recordKey: key, filter: page.Filter, page: page})
	}
	for id := page.After + 1; id <= last; id++ {
		key, isKnown := known[id]
		// If the first request for the record was sent after the page, the page need not show it.
		if !isKnown || listed[id] || len(s.changes[key]) < 2 || s.changes[key][1].begin >= page.Return {
			continue
		}
		if page.PetID == 0 || s.animals[page.PetID].animal == key.animal {
			all = append(all, observation{Item: Item{ID: id}, recordKey: key, absent: true, filter: page.Filter, page: page})
		}
	}
	return all, err
}
