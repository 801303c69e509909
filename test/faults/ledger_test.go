package faults

import (
	"fmt"
	"math"
	"sync"
)

// The steps of a sale, in this order. The last one is a delivery or a cancellation.
const (
	nothing = iota
	added
	ordered
	ended
	steps
)

const (
	never    = math.MaxInt64 // the time of what has not happened
	atTheEnd = never - 1     // after all that has happened
)

// A sale is what one client has done with one animal: it adds it, orders it twice at the same
// time, and ends the order. Each step is sent after the one before was acknowledged. Times are
// of the monotonic clock, in nanoseconds.
type sale struct {
	name      string // of the animal, which no other sale has
	category  int64
	keyed     bool // whether the requests have an Idempotency-Key
	cancelled bool // whether the order is cancelled, not delivered
	pet       int64
	order     int64
	sent      [steps]int64 // when the first request of a step was sent, or never
	acked     [steps]int64 // when the response was read whole, or never
	unknown   bool         // whether a request of the last step that was sent has no response
}

func newSale(name string, i int) *sale {
	s := &sale{name: name, category: int64(i), keyed: i%2 == 0, cancelled: i%3 == 0}
	for step := added; step < steps; step++ {
		s.sent[step], s.acked[step] = never, never
	}
	return s
}

// bounds returns the first and the last step that the store may have reached at a time: the
// last one that was acknowledged, and the last one that was sent and not refused.
func (s *sale) bounds(at int64) (least, most int) {
	for step := added; step < steps; step++ {
		if s.acked[step] <= at {
			least = step
		}
		if s.sent[step] <= at {
			most = step
		}
	}
	return least, most
}

// A ledger has the outcomes of the requests of all clients. It is safe for concurrent use. It is
// not a ledger.Ledger, which has a write only when its outcome is known: the state after a power
// loss is compared with what was sent and what was acknowledged at that moment.
type ledger struct {
	mu                             sync.Mutex
	sales                          map[string]*sale
	acknowledged, refused, unknown int      // requests
	wrong                          []string // the responses that no request may get
}

func newLedger() *ledger { return &ledger{sales: map[string]*sale{}} }

func (l *ledger) add(s *sale) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sales[s.name] = s
}

func (l *ledger) addWrong(response string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, response)
}

func (l *ledger) count(o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch o {
	case acknowledged:
		l.acknowledged++
	case conflict, refused:
		l.refused++
	case unknown:
		l.unknown++
	}
}

// added returns the names of a hundred of the animals that were acknowledged, by id.
func (l *ledger) added() map[int64]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := map[int64]string{}
	for name, s := range l.sales {
		if s.acked[added] != never && len(names) < 100 {
			names[s.pet] = name
		}
	}
	return names
}

func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d requests acknowledged, %d refused, %d unknown", l.acknowledged, l.refused, l.unknown)
}

// A storedPet is an animal in the store, with its orders.
type storedPet struct {
	id, category int64
	status       string
	orders       []storedOrder
}

type storedOrder struct {
	id     int64
	status string
}

// step returns the step of the sale that the animal and its orders are in, which must agree.
func (p storedPet) step() (step int, cancelled bool, err error) {
	if len(p.orders) > 1 {
		return 0, false, fmt.Errorf("the animal %d was sold %d times", p.id, len(p.orders))
	}
	state := p.status + " " + "without an order"
	if len(p.orders) == 1 {
		state = p.status + " " + p.orders[0].status
	}
	switch state {
	case "available without an order":
		return added, false, nil
	case "pending placed":
		return ordered, false, nil
	case "sold delivered":
		return ended, false, nil
	case "available cancelled":
		return ended, true, nil
	}
	return 0, false, fmt.Errorf("the animal %d does not agree with its order: %s", p.id, state)
}

// compare returns the differences between the ledger and the animals in the store, by name, as
// they must be at a time, and the wrong responses.
func (l *ledger) compare(stored map[string][]storedPet, at int64) (problems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	problems = append(problems, l.wrong...)
	for name, s := range l.sales {
		least, most := s.bounds(at)
		found := stored[name]
		if len(found) > 1 {
			report("doubled: %s is in the store %d times", name, len(found))
			continue
		}
		step := nothing
		if len(found) == 1 {
			p := found[0]
			var cancelled bool
			var err error
			if step, cancelled, err = p.step(); err != nil {
				report("%v", err)
				continue
			}
			if p.category != s.category || s.pet != 0 && p.id != s.pet || step >= ordered && s.order != 0 && p.orders[0].id != s.order ||
				step == ended && cancelled != s.cancelled {
				report("changed: got %+v, want %+v", p, *s)
			}
		}
		switch {
		case step < least:
			report("lost: %s has reached the step %d, %d was acknowledged", name, step, least)
		case step > most:
			report("refused, or not sent: %s has reached the step %d, at most %d was sent", name, step, most)
		}
	}
	for name := range stored {
		if l.sales[name] == nil {
			report("nobody has sent %s", name)
		}
	}
	return problems
}
