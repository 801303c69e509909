package linearizability

import (
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
	// acknowledged, but not than what its own has.
	SharedFile bool
	// Page is the file for Porcupine's HTML page of an animal whose history is impossible.
	Page string
}

// Check returns an error for each reason why a history is impossible, at most ten of each kind.
func (j Judge) Check(h *History) []error {
	return append(j.checkAnimals(h), j.checkLists(h)...)
}

// WantPossible fails the test if the history is impossible, and stores the history beside the page then.
func (j Judge) WantPossible(t *testing.T, h *History) {
	t.Helper()
	harness.Check(t, os.MkdirAll(filepath.Dir(j.Page), 0o755))
	begin := time.Now()
	problems := j.Check(h)
	var memory unix.Rusage
	harness.Check(t, unix.Getrusage(unix.RUSAGE_SELF, &memory))
	t.Logf("%s, judged in %v, with at most %d MiB", h, time.Since(begin).Round(time.Millisecond), memory.Maxrss>>10)
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
func (j Judge) checkAnimals(h *History) (problems []error) {
	for animal, operations := range j.partition(h) {
		result, info := porcupine.CheckOperationsVerbose(model, operations, time.Minute)
		if result == porcupine.Ok {
			continue
		}
		problem := fmt.Errorf("animal %d: %s", animal, result)
		if len(problems) == 0 && j.Page != "" {
			if err := porcupine.VisualizePath(model, info, j.Page); err != nil {
				return append(problems, problem, err)
			}
			problem = fmt.Errorf("%w: see %s", problem, j.Page)
		}
		if problems = append(problems, problem); len(problems) == 10 {
			break
		}
	}
	return problems
}

// partition returns the operations and observations of each animal.
func (j Judge) partition(h *History) map[int][]porcupine.Operation {
	partitions := map[int][]porcupine.Operation{}
	adds := map[int64]Operation{} // by id
	users := map[int]int{}        // the only process that got requests for an animal, or -1
	for _, op := range h.operations {
		if op.Kind == Add && op.Code == ok {
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
			if item.Animal == 0 {
				continue
			}
			add(item.Animal, op, observation{Item: item, filter: op.Filter})
		}
		if op.Filter == "" {
			continue
		}
		last := op.After
		if len(op.Page) > 0 {
			last = op.Page[len(op.Page)-1].ID
		}
		if len(op.Page) < op.Limit { // nothing follows
			last += idsBehindLastPage
		}
		for id := op.After + 1; id <= last; id++ {
			if found, known := adds[id]; known && !listed[id] && found.Call < op.Return {
				add(found.Animal, op, observation{absent: true, filter: op.Filter})
			}
		}
	}
	return partitions
}

// idsBehindLastPage is how many ids behind the last page are looked at.
const idsBehindLastPage = 100

// An instant is a request that is sent, or its response.
type instant struct {
	at  time.Duration
	end bool
	op  *Operation
}

// checkLists checks that ids of animals only grow, and that no page lacks an animal that was acknowledged before its
// request. The former makes the latter easy: it need only look at the greatest id.
func (j Judge) checkLists(h *History) (problems []error) {
	var instants []instant
	for i := range h.operations {
		op := &h.operations[i]
		if op.Kind == List && op.Code != ok && op.Code != "" {
			problems = append(problems, fmt.Errorf("a list after %d: %s", op.After, op.Code))
		}
		if op.Code == ok && (op.Kind == List || op.Kind == Add) {
			instants = append(instants, instant{op.Call, false, op}, instant{op.Return, true, op})
		}
	}
	slices.SortFunc(instants, func(a, b instant) int { return int(a.at - b.at) })
	var told int64                              // the greatest id that a response has told
	toldBy := map[int]int64{}                   // the same for each process
	acknowledged := map[int64]*Operation{}      // by id
	expected := make(map[*Operation]int64, 128) // what is told when a request is sent
	for _, now := range instants {
		op := now.op
		switch {
		case !now.end && op.Kind == List && j.SharedFile:
			expected[op] = toldBy[op.Process]
		case !now.end:
			expected[op] = told
		case op.Kind == Add:
			if !op.Replayed && op.PetID <= expected[op] {
				problems = append(problems, fmt.Errorf("the animal %d has the id %d, and an earlier response told %d", op.Animal, op.PetID, expected[op]))
			}
			if acknowledged[op.PetID] == nil {
				acknowledged[op.PetID] = op
			}
			told, toldBy[op.Process] = max(told, op.PetID), max(toldBy[op.Process], op.PetID)
		default:
			if err := j.checkPage(op, acknowledged, expected[op]); err != nil {
				problems = append(problems, err)
			}
			for _, item := range op.Page {
				told = max(told, item.ID)
			}
		}
		if now.end {
			delete(expected, op)
		}
	}
	return problems[:min(len(problems), 10)]
}

// checkPage checks a page without a filter against the animals that were acknowledged before. expected is the greatest
// id that it must have, if no animal is missing in between.
func (j Judge) checkPage(page *Operation, acknowledged map[int64]*Operation, expected int64) error {
	last := page.After
	listed := map[int64]bool{}
	for _, item := range page.Page {
		if item.ID <= last {
			return fmt.Errorf("a page after %d has %d behind %d", page.After, item.ID, last)
		}
		last, listed[item.ID] = item.ID, true
	}
	if page.Filter != "" {
		return nil
	}
	if len(page.Page) < page.Limit {
		last = max(last, expected) // it is the last page
	}
	for id := page.After + 1; id <= last; id++ {
		if op := acknowledged[id]; op != nil && op.Return < page.Call && !listed[id] && (!j.SharedFile || op.Process == page.Process) {
			return fmt.Errorf("a page after %d of %d ms lacks the animal %d, which was acknowledged %d ms before", page.After, page.Call.Milliseconds(), id, (page.Call - op.Return).Milliseconds())
		}
	}
	return nil
}
