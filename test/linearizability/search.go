package linearizability

import (
	"errors"
	"slices"
	"time"
)

// An event is an operation or an observation. It takes effect at one moment between call and end. If the
// outcome is unknown, end is never.
type event struct {
	call, end time.Duration
	client    int
	input     any
}

// maxVisited is the maximum number of states that a search visits. In 400,000 operations the maximum was
// 267, and most searches visited less than 20; after 50 kills, or with a slow disk, it was above 65,536.
const maxVisited = 1 << 20

var errTooManyStates = errors.New("the search would visit too many states")

// A search looks for an order of the events of an object that is possible for a service without concurrency.
// Each event must be after all events that had ended before it began (Wing and Gong, 1993). If two orders of
// the same events lead to the same state, the search continues only one of them (Lowe, 2017).
//
// A read is taken as soon as it is possible. That misses no possible order: a read changes nothing for other
// events, so it need not come later. So the reads of many clients at once cost no more than one. An event
// without a known outcome is tried last, because it may not have happened.
type search struct {
	events  []event // sorted by call
	tried   map[visit]bool
	longest []int // the longest order that was tried
}

// A visit is a set of events that are done, and the state after them.
type visit struct {
	done string
	state
}

// linearize sorts the events and returns a possible order of them. If there is none, it returns the longest
// order of some of them, and false.
func linearize(events []event) (order []int, possible bool, err error) {
	slices.SortStableFunc(events, func(a, b event) int { return int(a.call - b.call) })
	s := search{events: events, tried: map[visit]bool{}}
	possible = s.from(make([]byte, len(events)), nil, state{})
	if !possible && len(s.tried) > maxVisited {
		err = errTooManyStates
	}
	return s.longest, possible, err
}

// from reports whether the events that are not done can follow the events that are done. now is the state
// after the events that are done.
func (s *search) from(done []byte, order []int, now state) bool {
	due := s.takeReads(done, &order, &now)
	if len(order) > len(s.longest) {
		s.longest = slices.Clone(order)
	}
	v := visit{string(done), now}
	if due == never || s.tried[v] || len(s.tried) > maxVisited {
		return due == never
	}
	s.tried[v] = true
	for _, isUnknown := range []bool{false, true} {
		for i := 0; i < len(s.events) && s.events[i].call <= due; i++ {
			if done[i] == 1 || (s.events[i].end == never) != isUnknown {
				continue
			}
			after, possible := step(now, s.events[i].input)
			if possible && s.from(with(done, i), append(order, i), after) {
				return true
			}
		}
	}
	return false
}

// takeReads adds all reads that are possible now to done and order. It returns the first end of an event
// that is not done.
func (s *search) takeReads(done []byte, order *[]int, now *state) (due time.Duration) {
	for {
		due = never
		for i, e := range s.events {
			if done[i] == 0 {
				due = min(due, e.end)
			}
		}
		taken := len(*order)
		for i := 0; i < len(s.events) && s.events[i].call <= due; i++ {
			if done[i] == 1 || !reads(s.events[i].input) {
				continue
			}
			if after, possible := step(*now, s.events[i].input); possible {
				done[i], *now, *order = 1, after, append(*order, i)
			}
		}
		if len(*order) == taken {
			return due
		}
	}
}

// with returns a copy of done in which the event i is done.
func with(done []byte, i int) []byte {
	done = slices.Clone(done)
	done[i] = 1
	return done
}

// reads reports whether an operation or an observation leaves the state as it is. It may set ids that were
// unknown.
func reads(input any) bool {
	op, isOperation := input.(*Operation)
	return !isOperation || op.onlyReads() || op.Code != ok && op.Code != "" && !op.removedBefore()
}
