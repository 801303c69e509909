package linearizability

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// maxStaleness is how long a page or a single record may miss writes of other processes on the same SQLite file
// (docs/reliability.md).
const maxStaleness = 100 * time.Millisecond

// gone is the status of an animal or an order that does not exist.
const gone = "gone"

// A change gives an animal or an order a status at some moment between begin and end. If no response says
// that the change was made, end is never.
type change struct {
	status     string
	begin, end time.Duration
	process    int // the process that made the change, or -1 if several processes got the request
}

// mayBeOld reports whether another process than this one may have changed a shelf, so that this process may
// miss the change.
func (h *History) mayBeOld(s shown, shelf, process int) bool {
	return h.SharedFile && slices.ContainsFunc(s.requests[shelf], func(op *Operation) bool { return !op.onlyReads() && op.Process != process })
}

// checkAges returns a problem for each page or single read that shows an old status of an animal or an order. The status
// is too old if another process replaced it longer than maxStaleness before the request, or if the process
// of the page replaced it before the request. Only reads for which mayBeOld is true are checked. The model
// does not judge these: so many of them overlap within maxStaleness that it would take too long.
func (h *History) checkAges(s shown) (problems []error) {
	changes := map[recordKey][]change{}
	shelves := slices.AppendSeq(slices.Collect(maps.Keys(s.requests)), maps.Keys(s.observations))
	slices.Sort(shelves)
	for _, shelf := range slices.Compact(shelves) {
		for _, o := range append(recordsSeen(s.requests[shelf]), s.observations[shelf]...) {
			if !h.mayBeOld(s, shelf, o.page.Process) {
				continue
			}
			for _, seen := range o.seen {
				if changes[seen.recordKey] == nil {
					changes[seen.recordKey] = changesOf(s.requests[shelf], seen.recordKey)
				}
				statuses := possibleStatuses(changes[seen.recordKey], o.page)
				if !slices.ContainsFunc(statuses, func(status string) bool { return seen.isPossible(status, o.page.Query) }) {
					problems = append(problems, fmt.Errorf("%s, sent to process %d at %v: %s is not possible, but %q",
						describe(observation{o.page, []expectation{seen}}), o.page.Process, o.page.Call, seen.recordKey, statuses))
				}
			}
		}
	}
	return problems[:min(len(problems), 10)]
}

// recordsSeen returns the animals and orders that single reads have returned.
func recordsSeen(requests []*Operation) (all []observation) {
	for _, op := range requests {
		if op.Code != ok || op.Kind != Get && op.Kind != GetOrder {
			continue
		}
		key := recordKey{op.Shelf, op.Animal, noOrder}
		if op.Kind == GetOrder {
			key.order = op.Order
		}
		all = append(all, observation{op, []expectation{{key, op.Items[0].Fields, op.Items[0].ID, false}}})
	}
	return all
}

// isPossible reports whether a page may show a record as expected while the record has a status. A page of a
// category may always omit an animal, because its category may have changed.
func (e expectation) isPossible(status string, q Query) bool {
	selected := status != gone && q.selects(Fields{Status: status, Category: int(q.Category % 2)})
	if e.absent {
		return !selected || q.Category != 0
	}
	return selected && e.Status == status
}

// possibleStatuses returns the statuses that a page may show. A status is possible if its change began
// before the response was read, unless the page must show a later change.
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

// changesOf returns the changes of a record that succeeded or may have succeeded, in the order in which
// they began. The first one is that the record does not exist. Repeated requests are one change: it begins
// with the first request, and ends when the first response is read.
func changesOf(requests []*Operation, key recordKey) []change {
	changes := []change{{gone, math.MinInt64, math.MinInt64, -1}}
	type request struct {
		Kind
		order  int
		status string
		number int // tells apart requests that do not repeat each other
	}
	index := map[request]int{}
	for number, op := range requests {
		status, isChange := op.newStatus(key)
		if !isChange || op.Code != ok && op.Code != "" {
			continue
		}
		r := request{op.Kind, op.Order, status, 0}
		if op.Kind == Correct || op.Kind == Remove {
			r.number = number
		}
		i, known := index[r]
		if !known {
			i = len(changes)
			index[r] = i
			changes = append(changes, change{status, op.Call, never, op.Process})
		}
		if op.Call > changes[i].end {
			continue // the request repeats a change that had ended
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

// newStatus returns the status that a request gives a record, and whether the request changes its status.
func (op *Operation) newStatus(key recordKey) (status string, isChange bool) {
	switch {
	case op.Kind == Add && key.order == noOrder && op.Animal <= key.animal && key.animal < op.Animal+len(op.Pets):
		return op.Pets[key.animal-op.Animal].Status, true
	case op.Animal != key.animal:
	case key.order != noOrder && key.order == op.Order:
		status = map[Kind]string{Order: "placed", Deliver: "delivered", Cancel: "cancelled"}[op.Kind]
	case key.order != noOrder:
	case op.Kind == Correct && op.Patch.Status != nil:
		return *op.Patch.Status, true
	default:
		status = map[Kind]string{Order: "pending", Deliver: "sold", Cancel: "available", Remove: gone}[op.Kind]
	}
	return status, status != ""
}
