package linearizability

import (
	"errors"
	"slices"
	"time"
)

// An event is an operation, or an observation, that takes effect at one moment from call to end, which is never if its
// outcome is unknown.
type event struct {
	call, end time.Duration
	client    int
	input     any
}

// maxVisited is how many states a search visits at most: 267 in 400,000 operations, most of them less than 20.
const maxVisited = 1 << 16

var errTooManyStates = errors.New("the search would visit too many states")

// A search looks for an order of the events of a shelf that is possible for a service without concurrency: each event is after
// those that had ended before it began (Wing and Gong, 1993), and no set of events with the state after them is tried twice (Lowe,
// 2017). What reads is taken as soon as it is possible, which loses no order: it could only be later, and changes nothing for others.
// So the reads of many clients at once cost no more than one. What has an unknown outcome is tried last:
// it need not have happened.
type search struct {
	events  []event // by their calls
	tried   map[visit]bool
	longest []int // of the orders that were tried
}

// A visit is which events are done, and the state after them.
type visit struct {
	done string
	state
}

// linearize returns a possible order of events, or the longest part of one and false. It sorts the events.
func linearize(events []event) (order []int, possible bool, err error) {
	slices.SortStableFunc(events, func(a, b event) int { return int(a.call - b.call) })
	s := search{events: events, tried: map[visit]bool{}}
	possible = s.from(make([]byte, len(events)), nil, state{})
	if !possible && len(s.tried) > maxVisited {
		err = errTooManyStates
	}
	return s.longest, possible, err
}

// from reports whether the events that are not done can follow the others, after which the state is now.
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

// takeReads adds all reads that are possible now, and returns when the first of the events that are not done ends.
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

// with returns a copy of done with the event i.
func with(done []byte, i int) []byte {
	done = slices.Clone(done)
	done[i] = 1
	return done
}

// reads reports whether an operation or observation changes nothing, but for the ids that no response had returned before.
func reads(input any) bool {
	op, isOperation := input.(*Operation)
	return !isOperation || op.onlyReads() || op.Code != ok && op.Code != ""
}
