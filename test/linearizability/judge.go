package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"

	"example.com/petstore/test/harness"
)

// requestTimeout is how long the service works on a request at most (server.request_timeout).
const requestTimeout = 10 * time.Second

// Check returns a problem for each reason why the history is impossible, at most ten of each kind, and an error if it cannot
// judge all of it. It writes Porcupine's HTML page of the first impossible animal to the file page, unless that is empty.
func (h *History) Check(page string) (problems []error, err error) {
	problems, err = h.checkAnimals(page)
	return slices.Concat(problems, h.checkIDs(), h.checkOutcomes()), err
}

// WantPossible fails the test if the history is impossible, and stores the history beside the page then.
func (h *History) WantPossible(t *testing.T, page string) {
	t.Helper()
	harness.Check(t, os.MkdirAll(filepath.Dir(page), 0o755))
	begin := time.Now()
	problems, err := h.Check(page)
	var memory unix.Rusage
	harness.Check(t, unix.Getrusage(unix.RUSAGE_SELF, &memory))
	t.Logf("%s, judged in %v, with at most %d MiB", h, time.Since(begin).Round(time.Millisecond), memory.Maxrss>>10)
	if err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 && h.path == "" {
		harness.Check(t, h.Save(strings.TrimSuffix(page, ".html")+".ndjson.gz"))
		t.Logf("go test ./linearizability -run TestReplay -replay %s judges the history again", h.path)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// checkAnimals checks each animal with its orders by the model.
func (h *History) checkAnimals(page string) (problems []error, err error) {
	partitions, problems := h.partition()
	illegal := 0
	for animal, operations := range partitions {
		for _, o := range operations {
			if op, isRequest := o.Input.(Operation); isRequest && op.Code == inProgress && !keyWasInUse(op, operations) {
				problems = append(problems, fmt.Errorf("animal %d: %s without another request", animal, describe(op)))
			}
		}
		result, info := porcupine.CheckOperationsVerbose(model, operations, 5*time.Minute)
		if result == porcupine.Unknown {
			err = errors.Join(err, fmt.Errorf("animal %d was not judged within five minutes", animal))
		}
		if result != porcupine.Illegal {
			continue
		}
		problem := fmt.Errorf("animal %d: impossible", animal)
		if illegal++; illegal == 1 && page != "" {
			err = errors.Join(err, porcupine.VisualizePath(model, info, page))
			problem = fmt.Errorf("%w: see %s", problem, page)
		}
		if problems = append(problems, problem); illegal == 10 {
			break
		}
	}
	return problems, err
}

// keyWasInUse reports whether another request with the key of op was open at the same time. One without a response was that
// until requestTimeout after it was given up.
func keyWasInUse(op Operation, operations []porcupine.Operation) bool {
	return slices.ContainsFunc(operations, func(o porcupine.Operation) bool {
		other, isRequest := o.Input.(Operation)
		if isRequest && other.Code == "" {
			other.Return += requestTimeout
		}
		return isRequest && other.Keyed && other.Kind == op.Kind && other.Order == op.Order && other.Code != inProgress &&
			other.Call < op.Return && other.Return > op.Call
	})
}

// partition returns the requests of each animal with what pages show of it, and a problem for each page that is older than a
// shared file allows.
func (h *History) partition() (partitions map[int][]porcupine.Operation, problems []error) {
	partitions = map[int][]porcupine.Operation{}
	requests := map[int][]Operation{} // of each animal
	animals := map[int64]int{}        // by the id that a response has shown
	for _, op := range h.operations {
		for _, item := range op.Page {
			animals[item.ID] = item.Animal
		}
		if op.Kind == List || op.Code == "" && (op.Kind == Get || op.Kind == GetOrder) {
			continue
		}
		if op.Kind == Add && op.Code == ok {
			animals[op.PetID] = op.Animal
		}
		end := int64(op.Return)
		if op.Code == "" {
			end = math.MaxInt64
		}
		requests[op.Animal] = append(requests[op.Animal], op)
		partitions[op.Animal] = append(partitions[op.Animal], porcupine.Operation{ClientId: op.Client, Input: op, Call: int64(op.Call), Return: end})
	}
	for _, page := range h.operations {
		if page.Kind != List || page.Code != ok {
			continue
		}
		observe := func(animal int, o observation) {
			o.filter = page.Filter
			if h.SharedFile && usedByOthers(page.Process, requests[animal]) {
				if err := checkAge(page, o, requests[animal]); err != nil {
					problems = append(problems, fmt.Errorf("animal %d: %w", animal, err))
				}
				return
			}
			partitions[animal] = append(partitions[animal], porcupine.Operation{ClientId: page.Client, Input: o, Call: int64(page.Call), Return: int64(page.Return)})
		}
		last := page.After + 100 // the end, as far as clients read
		if len(page.Page) == page.Limit {
			last = page.Page[len(page.Page)-1].ID
		}
		listed := map[int64]bool{}
		for _, item := range page.Page {
			listed[item.ID] = true
			observe(item.Animal, observation{Item: item})
		}
		for id := page.After + 1; id <= last; id++ {
			animal, known := animals[id]
			if known && !listed[id] && requests[animal] != nil && requests[animal][0].Call < page.Return {
				observe(animal, observation{absent: true})
			}
		}
	}
	return partitions, problems[:min(len(problems), 10)]
}

// checkIDs checks that the ids of animals grow, also within a page, and that no two records have the same.
func (h *History) checkIDs() (problems []error) {
	type instant struct {
		at  time.Duration
		end bool
		op  *Operation
	}
	var sent, returned []instant
	for i := range h.operations {
		if op := &h.operations[i]; op.Code == ok {
			sent, returned = append(sent, instant{op.Call, false, op}), append(returned, instant{op.Return, true, op})
		}
	}
	instants := append(sent, returned...) // in this order, if they are at the same time
	slices.SortStableFunc(instants, func(a, b instant) int { return cmp.Compare(a.at, b.at) })
	var greatest int64                                     // id of an animal in a response
	before := make(map[*Operation]int64, 128)              // the greatest when a request is sent
	animals, orders := map[int64]int{}, map[int64][2]int{} // the animal, or the animal and the number of its order, by id
	for _, now := range instants {
		op := now.op
		if !now.end {
			before[op] = greatest
			continue
		}
		switch op.Kind {
		case Add:
			if first, known := animals[op.PetID]; known && first != op.Animal {
				problems = append(problems, fmt.Errorf("the animals %d and %d have the id %d", first, op.Animal, op.PetID))
			} else if !op.Replayed && op.PetID <= before[op] {
				problems = append(problems, fmt.Errorf("the animal %d has the id %d, and an earlier response had %d", op.Animal, op.PetID, before[op]))
			}
			animals[op.PetID], greatest = op.Animal, max(greatest, op.PetID)
		case Order:
			order := [2]int{op.Animal, op.Order}
			if first, known := orders[op.OrderID]; known && first != order {
				problems = append(problems, fmt.Errorf("the orders %v and %v (animal and number) have the id %d", first, order, op.OrderID))
			}
			orders[op.OrderID] = order
		case List:
			last := op.After
			for _, item := range op.Page {
				if item.ID <= last {
					problems = append(problems, fmt.Errorf("a page after %d has %d behind %d", op.After, item.ID, last))
				}
				last, greatest = item.ID, max(greatest, item.ID)
			}
		case Get, GetOrder, Deliver, Cancel:
		}
		delete(before, op)
	}
	return problems[:min(len(problems), 10)]
}

// checkOutcomes checks that requests of each kind succeed, that most have a known outcome, and that pages are refused never,
// and not longer than their limit.
func (h *History) checkOutcomes() (problems []error) {
	type counts struct{ all, known, succeeded int }
	kinds := map[Kind]counts{}
	for _, op := range h.operations {
		count := kinds[op.Kind]
		count.all++
		if op.Code != "" {
			count.known++
		}
		if op.Code == ok {
			count.succeeded++
		}
		kinds[op.Kind] = count
		if op.Kind == List && op.Code != ok && op.Code != "" {
			problems = append(problems, fmt.Errorf("a list after %d: %s", op.After, op.Code))
		}
		if len(op.Page) > op.Limit {
			problems = append(problems, fmt.Errorf("a page after %d has %d animals, more than its limit of %d", op.After, len(op.Page), op.Limit))
		}
	}
	for kind, count := range kinds {
		if count.all >= 100 && (count.known < count.all/2 || count.succeeded == 0) {
			problems = append(problems, fmt.Errorf("of %d requests (%s) %d have a known outcome, and %d succeeded", count.all, kind, count.known, count.succeeded))
		}
	}
	return problems[:min(len(problems), 10)]
}
