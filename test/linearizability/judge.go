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

// A Judge decides whether a history is possible.
type Judge struct {
	// SharedFile is whether the processes share an SQLite file. Then a page may be older than what another process has
	// acknowledged, by maxStaleness, but not than what its own has.
	SharedFile bool
	// Page is the file for Porcupine's HTML page of an animal whose history is impossible.
	Page string
}

// maxStaleness is how old a page may be that another process than that of the write returns (docs/reliability.md).
const maxStaleness = 100 * time.Millisecond

// Check returns a problem for each reason why the history is impossible, at most ten of each kind, and an error if it cannot
// judge all of it.
func (j Judge) Check(h *History) (problems []error, err error) {
	problems, err = j.checkAnimals(h)
	return append(problems, j.checkRecords(h)...), err
}

// WantPossible fails the test if the history is impossible, and stores the history beside the page then.
func (j Judge) WantPossible(t *testing.T, h *History) {
	t.Helper()
	harness.Check(t, os.MkdirAll(filepath.Dir(j.Page), 0o755))
	begin := time.Now()
	problems, err := j.Check(h)
	var memory unix.Rusage
	harness.Check(t, unix.Getrusage(unix.RUSAGE_SELF, &memory))
	t.Logf("%s, judged in %v, with at most %d MiB", h, time.Since(begin).Round(time.Millisecond), memory.Maxrss>>10)
	if err != nil {
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		return
	}
	path := strings.TrimSuffix(j.Page, ".html") + ".ndjson.gz"
	harness.Check(t, h.Save(path))
	t.Logf("go test ./linearizability -run TestReplay -replay %s -shared=%t judges the history again", path, j.SharedFile)
	for _, problem := range problems {
		t.Error(problem)
	}
}

// checkAnimals checks each animal with its orders by the model.
func (j Judge) checkAnimals(h *History) (problems []error, err error) {
	for animal, operations := range j.partition(h) {
		for _, o := range operations {
			if op, isRequest := o.Input.(Operation); isRequest && op.Code == inProgress && !keyWasInUse(op, operations) {
				problems = append(problems, fmt.Errorf("animal %d: %s without another request", animal, describe(op)))
			}
		}
		result, info := porcupine.CheckOperationsVerbose(model, operations, time.Minute)
		if result == porcupine.Unknown {
			err = errors.Join(err, fmt.Errorf("animal %d was not judged within a minute", animal))
		}
		if result != porcupine.Illegal {
			continue
		}
		problem := fmt.Errorf("animal %d: impossible", animal)
		if len(problems) == 0 && j.Page != "" {
			err = errors.Join(err, porcupine.VisualizePath(model, info, j.Page))
			problem = fmt.Errorf("%w: see %s", problem, j.Page)
		}
		if problems = append(problems, problem); len(problems) >= 10 {
			break
		}
	}
	return problems, err
}

// keyWasInUse reports whether another request with the key of op was open at the same time.
func keyWasInUse(op Operation, operations []porcupine.Operation) bool {
	return slices.ContainsFunc(operations, func(o porcupine.Operation) bool {
		other, isRequest := o.Input.(Operation)
		return isRequest && other.Keyed && other.Kind == op.Kind && other.Order == op.Order && other.Code != inProgress &&
			o.Call < int64(op.Return) && o.Return > int64(op.Call)
	})
}

// partition returns the operations and observations of each animal.
func (j Judge) partition(h *History) map[int][]porcupine.Operation {
	partitions := map[int][]porcupine.Operation{}
	adds := map[int64]Operation{} // by id
	users := map[int]int{}        // the only process that got requests for an animal, or -1
	for _, op := range h.operations {
		if _, known := adds[op.PetID]; !known && op.Kind == Add && op.Code == ok {
			adds[op.PetID] = op
		}
		if user, known := users[op.Animal]; op.Kind != List && known && user != op.Process {
			users[op.Animal] = -1
		} else if op.Kind != List {
			users[op.Animal] = op.Process
		}
	}
	add := func(animal int, op Operation, input any) {
		if process, known := users[animal]; op.Kind == List && j.SharedFile && known && process != op.Process {
			return
		}
		partitions[animal] = append(partitions[animal], porcupine.Operation{ClientId: op.Client, Input: input, Call: int64(op.Call), Return: int64(op.Return)})
	}
	for _, op := range h.operations {
		isRead := op.Kind == Get || op.Kind == GetOrder || op.Kind == List
		switch {
		case op.Code == "" && isRead:
			continue
		case op.Kind != List:
			if op.Code == "" {
				op.Return = math.MaxInt64
			}
			add(op.Animal, op, op)
			continue
		}
		listed := map[int64]bool{}
		for _, item := range op.Page {
			listed[item.ID] = true
			add(item.Animal, op, observation{Item: item, filter: op.Filter})
		}
		last := op.After + 100 // the end, as far as clients read
		if len(op.Page) == op.Limit {
			last = op.Page[len(op.Page)-1].ID
		}
		for id := op.After + 1; id <= last; id++ {
			if found, known := adds[id]; known && !listed[id] && found.Call < op.Return {
				add(found.Animal, op, observation{absent: true, filter: op.Filter})
			}
		}
	}
	return partitions
}

// An instant is a request that is sent, or its response.
type instant struct {
	at  time.Duration
	end bool
	op  *Operation
}

// checkRecords checks that ids of animals only grow, that no two records have the same, and that no page is older than what
// was acknowledged before its request. The first makes the last easy: a page need only look at the greatest id.
func (j Judge) checkRecords(h *History) (problems []error) {
	var instants []instant
	orders := map[int64][2]int{} // the animal and the number, by id
	for i := range h.operations {
		op := &h.operations[i]
		switch {
		case op.Kind == List && op.Code != ok && op.Code != "":
			problems = append(problems, fmt.Errorf("a list after %d: %s", op.After, op.Code))
		case op.Code == ok && (op.Kind == List || op.Kind == Add || op.Kind == Deliver):
			instants = append(instants, instant{op.Call, false, op}, instant{op.Return, true, op})
		case op.Code == ok && op.Kind == Order:
			order := [2]int{op.Animal, op.Order}
			if first, known := orders[op.OrderID]; known && first != order {
				problems = append(problems, fmt.Errorf("the orders %v and %v (animal and number) have the id %d", first, order, op.OrderID))
			}
			orders[op.OrderID] = order
		}
	}
	slices.SortFunc(instants, func(a, b instant) int { return int(a.at - b.at) })
	var greatest int64                                                 // id of a response
	before := make(map[*Operation]int64, 128)                          // the greatest when a request is sent
	added, delivered := map[int64]*Operation{}, map[int64]*Operation{} // the first with each id of an animal
	for _, now := range instants {
		op := now.op
		switch {
		case !now.end:
			before[op] = greatest
			continue
		case op.Kind == Deliver:
			delivered[op.PetID] = cmp.Or(delivered[op.PetID], op)
		case op.Kind == Add:
			added[op.PetID] = cmp.Or(added[op.PetID], op)
			if first := added[op.PetID]; first.Animal != op.Animal {
				problems = append(problems, fmt.Errorf("the animals %d and %d have the id %d", first.Animal, op.Animal, op.PetID))
			} else if !op.Replayed && op.PetID <= before[op] {
				problems = append(problems, fmt.Errorf("the animal %d has the id %d, and an earlier response had %d", op.Animal, op.PetID, before[op]))
			}
			greatest = max(greatest, op.PetID)
		default:
			if err := j.checkPage(op, added, delivered, before[op]); err != nil {
				problems = append(problems, err)
			}
			for _, item := range op.Page {
				greatest = max(greatest, item.ID)
			}
		}
		delete(before, op)
	}
	return problems[:min(len(problems), 10)]
}

// checkPage checks a page against the animals that were added and delivered before. greatest is the greatest id that it
// must have, if no animal is missing in between.
func (j Judge) checkPage(page *Operation, added, delivered map[int64]*Operation, greatest int64) error {
	last := page.After
	listed := map[int64]bool{}
	for _, item := range page.Page {
		if item.ID <= last {
			return fmt.Errorf("a page after %d has %d behind %d", page.After, item.ID, last)
		}
		if op := delivered[item.ID]; j.mustHave(page, op) && item.Status != "sold" {
			return fmt.Errorf("a page after %d has the animal %d as %q, which was sold %v before", page.After, item.ID, item.Status, page.Call-op.Return)
		}
		last, listed[item.ID] = item.ID, true
	}
	if page.Filter != "" {
		return nil
	}
	if len(page.Page) < page.Limit {
		last = max(last, greatest) // it is the last page
	}
	for id := page.After + 1; id <= last; id++ {
		if op := added[id]; j.mustHave(page, op) && !listed[id] {
			return fmt.Errorf("a page after %d lacks the animal %d, which was added %v before", page.After, id, page.Call-op.Return)
		}
	}
	return nil
}

// mustHave reports whether a page must have what a write, or nil, has changed.
func (j Judge) mustHave(page, write *Operation) bool {
	if write == nil {
		return false
	}
	age := page.Call - write.Return
	if j.SharedFile && write.Process != page.Process {
		age -= maxStaleness
	}
	return age > 0
}
