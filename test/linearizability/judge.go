package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
)

// Check returns the reasons why the history is impossible, at most ten from each check. It returns an error
// if it cannot judge the whole history. It writes the events of the first impossible object to the file
// page, if page is not empty.
func (h *History) Check(page string) (problems []error, err error) {
	s := h.shown()
	problems, err = s.checkObjects(page)
	return slices.Concat(problems, h.checkListedOrders(s), h.checkIDs(s), h.checkPages(), h.checkChanges()), err
}

// WantPossible fails the test if the history is impossible or cannot be judged, or if checkOutcomes finds a problem.
// It then saves the history beside the page.
func (h *History) WantPossible(t *testing.T, page string) {
	t.Helper()
	if h.path == "" { // a history with a path is judged again, and its files are kept
		_ = os.Remove(page) // the file of an earlier run
		_ = os.Remove(fileBeside(page))
	}
	begin := time.Now()
	problems, err := h.Check(page)
	problems = append(problems, h.checkOutcomes()...)
	var memory unix.Rusage
	testkit.Check(t, unix.Getrusage(unix.RUSAGE_SELF, &memory))
	t.Logf("%s; %d changes; judged in %v, with at most %d MiB", h, len(h.Changes), time.Since(begin).Round(time.Millisecond), memory.Maxrss>>10)
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

// fileBeside returns the path of the history for a page.
func fileBeside(page string) string { return strings.TrimSuffix(page, ".txt") + ".ndjson.gz" }

// checkObjects checks each shelf, with the orders of its animals, and the name of each category against the model.
func (s shown) checkObjects(page string) (problems []error, err error) {
	for _, o := range s.objects() {
		events := o.events
		order, possible, searchErr := linearize(events)
		if searchErr != nil {
			err = errors.Join(err, fmt.Errorf("%s, with %d events, was not judged: %w", o.name, len(events), searchErr))
		}
		if possible || searchErr != nil {
			continue
		}
		problem := fmt.Errorf("%s: %s", o.name, reasonOf(events, order))
		if len(problems) == 0 && page != "" {
			text := fmt.Sprintln(problem)
			for i, e := range events {
				text += fmt.Sprintf("%12v to %12v: client %2d, %2d. of the possible order: %s\n",
					e.call, e.end, e.client, 1+slices.Index(order, i), describe(e.input))
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

// reasonOf describes the event that is impossible. longest is the longest possible order of some events. Of
// all other events, the event that ended first is impossible.
func reasonOf(events []event, longest []int) string {
	first := -1
	for i, e := range events {
		if !slices.Contains(longest, i) && (first < 0 || e.end < events[first].end) {
			first = i
		}
	}
	e := events[first]
	return fmt.Sprintf("%s by client %d from %v to %v is impossible after %d other operations",
		describe(e.input), e.client, e.call, e.end, len(longest))
}

// An occurrence is a record and its id in the response of op.
type occurrence struct {
	op *Operation
	recordKey
	id int64
}

// checkIDs checks that the ids of new animals and orders increase, that no id belongs to two records, and
// that no record has two ids.
func (h *History) checkIDs(s shown) []error {
	var animals, orders []occurrence
	for i := range h.operations {
		op := &h.operations[i]
		for _, item := range op.Items {
			switch key := (recordKey{op.Shelf, op.Animal, op.Order}); {
			case item.Name != "":
			case item.PetID == 0:
				animals = append(animals, occurrence{op, recordKey{item.Shelf, item.Animal, noOrder}, item.ID})
			case op.Kind == ListOrders: // perhaps the response with this id was lost
				orders = append(orders, occurrence{op, cmp.Or(s.orders[item.ID], recordKey{0, 0, int(item.ID)}), item.ID})
			default:
				orders = append(orders, occurrence{op, key, item.ID})
			}
		}
	}
	return slices.Concat(checkSequence(animals), checkSequence(orders))
}

// checkSequence checks the ids of all animals, or of all orders.
func checkSequence(all []occurrence) (problems []error) {
	slices.SortStableFunc(all, func(a, b occurrence) int { return cmp.Compare(a.op.Return, b.op.Return) })
	records, ids := map[int64]recordKey{}, map[recordKey]int64{}
	greatest := make([]int64, len(all)+1) // greatest[n] is the greatest id of the first n occurrences
	for i, s := range all {
		greatest[i+1] = max(greatest[i], s.id)
		if first, known := records[s.id]; known && first != s.recordKey {
			problems = append(problems, fmt.Errorf("%v and %v have the id %d", first, s.recordKey, s.id))
		}
		if first, known := ids[s.recordKey]; known && first != s.id {
			problems = append(problems, fmt.Errorf("%v has the ids %d and %d", s.recordKey, first, s.id))
		}
		records[s.id], ids[s.recordKey] = s.recordKey, s.id
		before, _ := slices.BinarySearchFunc(all, s.op.Call, func(other occurrence, at time.Duration) int { return cmp.Compare(other.op.Return, at) })
		if s.op.records() > 0 && !s.op.Replayed && s.id <= greatest[before] {
			problems = append(problems, fmt.Errorf("%v has the id %d, and an earlier response had %d", s.recordKey, s.id, greatest[before]))
		}
	}
	return problems[:min(len(problems), 10)]
}

// checkPages checks that pages are refused only with 503, are in order, and have only records that their filters
// select. A page is not longer than its limit. If it has a link to the next page, it is not shorter either.
func (h *History) checkPages() (problems []error) {
	for i := range h.operations {
		op := &h.operations[i]
		if !op.isPage() {
			continue
		}
		q, records := op.Query, len(op.Items)+len(op.Categories)
		switch {
		case op.Code != ok && op.Code != "" && op.Code != unavailable:
			problems = append(problems, fmt.Errorf("%s: %s", pathOf(op), op.Code))
		case op.More && (records < q.Limit || q.IDs != nil):
			problems = append(problems, fmt.Errorf("%s has a link to the next page, and %d records", pathOf(op), records))
		case records > q.Limit:
			problems = append(problems, fmt.Errorf("%s has %d records, more than its limit", pathOf(op), records))
		}
		last := q.After
		for _, c := range op.Categories {
			if c.ID <= last || !c.isListed() {
				problems = append(problems, fmt.Errorf("%s has %+v behind %d", pathOf(op), c, last))
			}
			last = c.ID
		}
		for n, item := range op.Items {
			if n > 0 || !q.Newest || q.After > 0 {
				if q.Newest != (item.ID < last) || item.ID == last {
					problems = append(problems, fmt.Errorf("%s has %d behind %d", pathOf(op), item.ID, last))
				}
			}
			if !q.selects(item.Fields) || q.Category != 0 && int(q.Category) != 2*item.Shelf+item.Category ||
				q.IDs != nil && !slices.Contains(q.IDs, item.ID) {
				problems = append(problems, fmt.Errorf("%s has %+v", pathOf(op), item))
			}
			last = item.ID
		}
	}
	return problems[:min(len(problems), 10)]
}

// checkOutcomes checks the requests of each kind of which there are at least 100. Half of them must have a
// known outcome, and one must have succeeded.
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
