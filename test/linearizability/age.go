package linearizability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

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
		possible := slices.ContainsFunc(statuses, func(status string) bool {
			if o.absent {
				return status == none || !o.selects(status)
			}
			return status == o.status && o.selects(status)
		})
		if !possible {
			problems = append(problems, fmt.Errorf("%s, sent to process %d at %v, is not possible, but %q", describe(o), o.page.Process, o.page.Call, statuses))
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
		status, isChange = animalStatuses[op.Kind]
	case op.Order == order:
		status, isChange = orderStatuses[op.Kind]
	}
	return status, isChange
}

// What requests make of the animal, and of the order.
var (
	animalStatuses = map[Kind]string{Order: "pending", Deliver: "sold", Cancel: "available"}
	orderStatuses  = map[Kind]string{Order: "placed", Deliver: "delivered", Cancel: "cancelled"}
)
