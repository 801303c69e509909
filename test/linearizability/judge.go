package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
)

// Check returns a problem for each reason why the history is impossible, at most ten of each check, and an error if it cannot
// judge all of it. It writes the events of the first impossible animal to the file page, unless that is empty.
func (h *History) Check(page string) (problems []error, err error) {
	s := h.shown()
	problems, err = h.checkAnimals(s, page)
	return slices.Concat(problems, h.checkAges(s), h.checkListedOrders(s), h.checkIDs(s), h.checkPages(), h.checkOutcomes()), err
}

// WantPossible fails the test if the history is impossible, and stores the history beside the page then.
func (h *History) WantPossible(t *testing.T, page string) {
	t.Helper()
	if h.path == "" { // else it is judged again
		_ = os.Remove(page) // of an earlier run
		_ = os.Remove(fileBeside(page))
	}
	begin := time.Now()
	problems, err := h.Check(page)
	var memory unix.Rusage
	testkit.Check(t, unix.Getrusage(unix.RUSAGE_SELF, &memory))
	t.Logf("%s, judged in %v, with at most %d MiB", h, time.Since(begin).Round(time.Millisecond), memory.Maxrss>>10)
	if err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 && h.path == "" {
		h.store(t, page)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// store saves the history beside the page.
func (h *History) store(t *testing.T, page string) {
	t.Helper()
	testkit.Check(t, h.Save(fileBeside(page)))
	t.Logf("cd test && PETSTORE_TEST_ENGINE=sqlite go test ./linearizability -run TestReplay -v -replay %s judges the history again", h.path)
}

// fileBeside returns the file of the history of a page.
func fileBeside(page string) string { return strings.TrimSuffix(page, ".txt") + ".ndjson.gz" }

// checkAnimals checks each animal with its orders by the model.
func (h *History) checkAnimals(s shown, page string) (problems []error, err error) {
	partitions := h.partition(s)
	for _, number := range slices.Sorted(maps.Keys(partitions)) {
		events, animal := partitions[number], recordKey{number, noOrder}
		order, possible, searchErr := linearize(events)
		if searchErr != nil {
			err = errors.Join(err, fmt.Errorf("%s, with %d events, was not judged: %w", animal, len(events), searchErr))
		}
		if possible || searchErr != nil {
			continue
		}
		problem := fmt.Errorf("%s: %s", animal, impossible(events, order))
		if len(problems) == 0 && page != "" {
			text := fmt.Sprintln(problem)
			for i, e := range events {
				text += fmt.Sprintf("%12v to %12v: client %2d, %2d. of the possible order: %s\n", e.call, e.end, e.client, 1+slices.Index(order, i), describe(e.input))
			}
			err = errors.Join(err, os.MkdirAll(filepath.Dir(page), 0o755), os.WriteFile(page, []byte(text), 0o644))
			problem = fmt.Errorf("%w: see %s", problem, page)
		}
		if problems = append(problems, problem); len(problems) == 10 {
			break
		}
	}
	return problems, err
}

// impossible names the first event, by its end, that is not in the longest part of a possible order.
func impossible(events []event, longest []int) string {
	first := -1
	for i, e := range events {
		if !slices.Contains(longest, i) && (first < 0 || e.end < events[first].end) {
			first = i
		}
	}
	e := events[first]
	return fmt.Sprintf("%s by client %d from %v to %v is impossible after %d other operations", describe(e.input), e.client, e.call, e.end, len(longest))
}

// An occurrence is a record with its id in the response of op.
type occurrence struct {
	op     *Operation
	record namedRecord
	id     int64
}

// A namedRecord is an order, or an animal with the variant that its name has.
type namedRecord struct {
	recordKey
	variant string
}

// checkIDs checks that the ids of new animals and orders grow, and that no two records have the same id, and no record two.
func (h *History) checkIDs(s shown) []error {
	var animals, orders []occurrence
	addAnimal := func(op *Operation, animal int, variant string, id int64) {
		animals = append(animals, occurrence{op, namedRecord{recordKey{animal, noOrder}, variant}, id})
	}
	addOrder := func(op *Operation, key recordKey, id int64) {
		orders = append(orders, occurrence{op, namedRecord{key, ""}, id})
	}
	for i := range h.operations {
		op := &h.operations[i]
		switch {
		case op.Code != ok:
		case op.Kind == Add:
			addAnimal(op, op.Animal, op.Variant, op.PetID)
		case op.Kind == Order:
			addOrder(op, recordKey{op.Animal, op.Order}, op.OrderID)
		case op.Kind == List:
			for _, item := range op.Page {
				addAnimal(op, item.Animal, item.Variant, item.ID)
			}
		case op.Kind == ListOrders:
			for _, item := range op.Page {
				addOrder(op, cmp.Or(s.orders[item.ID], recordKey{0, int(item.ID)}), item.ID) // perhaps no response to a request has it
			}
		}
	}
	return slices.Concat(checkSequence(animals), checkSequence(orders))
}

// checkSequence checks the ids of the animals, or of the orders.
func checkSequence(all []occurrence) (problems []error) {
	slices.SortFunc(all, func(a, b occurrence) int { return cmp.Compare(a.op.Return, b.op.Return) })
	records, ids := map[int64]namedRecord{}, map[namedRecord]int64{}
	greatest := make([]int64, len(all)+1) // id of the first so many
	for i, s := range all {
		greatest[i+1] = max(greatest[i], s.id)
		if first, known := records[s.id]; known && first != s.record {
			problems = append(problems, fmt.Errorf("%v %q and %v %q have the id %d", first, first.variant, s.record, s.record.variant, s.id))
		}
		if first, known := ids[s.record]; known && first != s.id {
			problems = append(problems, fmt.Errorf("%v has the ids %d and %d", s.record, first, s.id))
		}
		records[s.id], ids[s.record] = s.record, s.id
		before, _ := slices.BinarySearchFunc(all, s.op.Call, func(other occurrence, at time.Duration) int { return cmp.Compare(other.op.Return, at) })
		if !s.op.isList() && !s.op.Replayed && s.id <= greatest[before] {
			problems = append(problems, fmt.Errorf("%v has the id %d, and an earlier response had %d", s.record, s.id, greatest[before]))
		}
	}
	return problems[:min(len(problems), 10)]
}

// checkPages checks that pages are never refused, ascend, are not longer than their limit, and not shorter if they have a link.
func (h *History) checkPages() (problems []error) {
	for i := range h.operations {
		op := &h.operations[i]
		switch {
		case op.isList() && op.Code != ok && op.Code != "":
			problems = append(problems, fmt.Errorf("%s: %s", pathOf(op), op.Code))
		case op.More && len(op.Page) < op.Limit:
			problems = append(problems, fmt.Errorf("%s has a link to the next page, and %d records, fewer than its limit", pathOf(op), len(op.Page)))
		case len(op.Page) > op.Limit:
			problems = append(problems, fmt.Errorf("%s has %d records, more than its limit", pathOf(op), len(op.Page)))
		}
		last := op.After
		for _, item := range op.Page {
			if item.ID <= last {
				problems = append(problems, fmt.Errorf("%s has %d behind %d", pathOf(op), item.ID, last))
			}
			last = item.ID
		}
	}
	return problems[:min(len(problems), 10)]
}

// checkOutcomes checks that requests of each kind succeed, and that most have a known outcome.
func (h *History) checkOutcomes() (problems []error) {
	all, known, succeeded := map[Kind]int{}, map[Kind]int{}, map[Kind]int{}
	for _, op := range h.operations {
		all[op.Kind]++
		if op.Code != "" {
			known[op.Kind]++
		}
		if op.Code == ok {
			succeeded[op.Kind]++
		}
	}
	for kind, n := range all {
		if n >= 100 && (known[kind] < n/2 || succeeded[kind] == 0) {
			problems = append(problems,
				fmt.Errorf("of %d requests (%s) %d have a known outcome, and %d succeeded", n, kind, known[kind], succeeded[kind]))
		}
	}
	return problems
}
