// Package ledger writes to a running service with many clients, keeps a ledger of the
// responses, and compares the store with it. Only tests import it.
package ledger

import (
	"slices"
	"sync"
	"time"
)

// A Kind is what a write creates or changes.
type Kind int

// The kinds of Write.
const (
	Pet Kind = iota
	Order
	Delivery
)

// An Outcome is the result of a write for its client, after the last attempt.
type Outcome int

// The outcomes of a Write.
const (
	Acknowledged Outcome = iota // a status below 400
	Refused                     // 4xx: it was not done
	Unknown                     // 503, or no response: it may have been done
)

// A Write is a request that a client repeats, with the same Idempotency-Key, until its
// outcome is known. Without a key it is not repeated, unless it is a Delivery.
type Write struct {
	Kind     Kind
	Name     string // of a pet that the write adds
	Invalid  bool   // whether the service must refuse that pet
	PetID    int64  // in the response, or the pet to order
	OrderID  int64  // in the response, or the order to deliver
	Outcome  Outcome
	Status   int       // of the response, if Refused
	Unknowns int       // attempts without a known outcome
	Period   int       // see Ledger.Begin
	At       time.Time // of the last response
}

// A Ledger collects the writes of all clients. It is safe for concurrent use.
type Ledger struct {
	mu         sync.Mutex
	writes     []Write
	reads      []time.Time // of successful responses to reads
	violations []string    // responses that no service may send
	periods    []string    // their names
	starts     []time.Time
}

// New returns an empty Ledger.
func New() *Ledger {
	l := &Ledger{}
	l.Begin("")
	return l
}

// Begin starts a period. The writes that are sent from now on belong to it.
func (l *Ledger) Begin(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.periods, l.starts = append(l.periods, name), append(l.starts, time.Now())
}

func (l *Ledger) period() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.periods) - 1
}

func (l *Ledger) add(w Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.At = time.Now()
	l.writes = append(l.writes, w)
}

func (l *Ledger) addRead() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads = append(l.reads, time.Now())
}

func (l *Ledger) addViolation(violation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violations = append(l.violations, violation)
}

// Violations returns the responses that no service may send, such as a 5xx other than 503.
func (l *Ledger) Violations() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.violations)
}

// AcknowledgedSince returns the number of writes that were acknowledged after t.
func (l *Ledger) AcknowledgedSince(t time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.writes) - 1; i >= 0 && l.writes[i].At.After(t); i-- {
		if l.writes[i].Outcome == Acknowledged {
			n++
		}
	}
	return n
}

// Gaps returns the longest times without an acknowledged write and without a successful read
// in the current period.
func (l *Ledger) Gaps() (write, read time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	start := l.starts[len(l.starts)-1]
	var writes []time.Time
	for _, w := range l.writes {
		if w.Outcome == Acknowledged {
			writes = append(writes, w.At)
		}
	}
	return longestGap(start, writes), longestGap(start, l.reads)
}

// longestGap returns the longest time between two of the times after start, or until now.
func longestGap(start time.Time, times []time.Time) (longest time.Duration) {
	last := start
	for _, t := range append(slices.Clone(times), time.Now()) {
		if t.After(last) {
			longest, last = max(longest, t.Sub(last)), t
		}
	}
	return longest
}
