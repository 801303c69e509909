// Package ledger sells animals with many clients of a running service, keeps a ledger of the
// responses, and compares the store with it. Only tests import it. Beside it there is package
// linearizability, whose judge takes 503 for an unknown outcome and needs a service that reads the
// pages: the ledger knows what was refused, compares the hundreds of files that a power failure may
// leave, each as of its moment, and measures how long responses take.
package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The steps of a sale, in this order. The last one is a delivery or a cancellation.
const (
	nothing = iota
	added
	ordered
	ended
	steps
)

const never = math.MaxInt64 // the time of what has not happened

// AtTheEnd is the time after all that has happened, for Check.
const AtTheEnd = never - 1

// A sale is what one client has done with one animal: it adds it, orders it twice at the same
// time, and ends the order. Each step is sent after the one before was acknowledged.
type sale struct {
	name      string // of the animal, which no other sale has
	category  int64
	keyed     bool // whether the requests have an Idempotency-Key
	cancelled bool // whether the order is cancelled, not delivered
	pet       int64
	order     int64
	steps     [steps]step
	unknown   bool // whether the outcome of the last step that was sent is unknown
}

// A step is the time of the clock of Monotonic at which its first request was sent, and at which its
// response was read whole, or never.
type step struct{ sent, acknowledged int64 }

func newSale(name string, i int) *sale {
	s := &sale{name: name, category: int64(i), keyed: i%2 == 0, cancelled: i%3 == 0}
	for n := range s.steps {
		s.steps[n] = step{never, never}
	}
	return s
}

// A Ledger has the outcomes of the requests of all clients. It is safe for concurrent use.
type Ledger struct {
	mu            sync.Mutex
	sales         map[string]*sale
	counts        Counts
	writes, reads Responses
	wrong         []string
}

// Counts are how many requests of sales had each outcome, and how many responses were 503.
type Counts struct{ Acknowledged, Refused, Unknown, Unavailable int }

// New returns an empty Ledger.
func New() *Ledger { return &Ledger{sales: map[string]*sale{}} }

func (l *Ledger) add(s *sale) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sales[s.name] = s
}

func (l *Ledger) addWrong(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// send records that a step is sent, and reports whether that is the first time.
func (l *Ledger) send(s *step) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = s.sent == never
	if first {
		s.sent = Monotonic()
	}
	return first
}

// end records the outcome of a step.
func (l *Ledger) end(s *step, o outcome, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case o == acknowledged:
		s.acknowledged = Monotonic()
	case o == refused && first:
		s.sent = never
	}
}

// count records the outcome of one request of a step.
func (l *Ledger) count(o outcome, r Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch o {
	case acknowledged:
		l.counts.Acknowledged++
		l.writes = append(l.writes, r)
	case conflict, refused:
		l.counts.Refused++
	case unknown:
		l.counts.Unknown++
	}
}

// Counts returns the numbers of requests.
func (l *Ledger) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// Unavailable returns the number of responses with 503.
func (l *Ledger) Unavailable() int { return l.Counts().Unavailable }

func (l *Ledger) String() string {
	c := l.Counts()
	return fmt.Sprintf("%d requests acknowledged, %d refused, %d unknown, %d responses with 503", c.Acknowledged, c.Refused, c.Unknown, c.Unavailable)
}

// Added returns the names of a hundred of the animals whose addition was acknowledged, by id.
func (l *Ledger) Added() map[int64]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := map[int64]string{}
	for name, s := range l.sales {
		if s.steps[added].acknowledged != never && len(names) < 100 {
			names[s.pet] = name
		}
	}
	return names
}

// Writes returns the responses since a time that acknowledged a write.
func (l *Ledger) Writes(since time.Time) Responses {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes.after(since)
}

// Reads returns the responses since a time with a page of animals.
func (l *Ledger) Reads(since time.Time) Responses {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads.after(since)
}

// A Response is when a response was read whole, and how long after its request was sent.
type Response struct {
	At   time.Time
	Took time.Duration
}

// Responses are in the order of their times.
type Responses []Response

func (r Responses) after(t time.Time) Responses {
	i := len(r)
	for i > 0 && r[i-1].At.After(t) {
		i--
	}
	return slices.Clone(r[i:])
}

// P99 returns the 99th percentile of how long they took, 0 without any.
func (r Responses) P99() time.Duration {
	if len(r) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(r), func(a, b Response) int { return cmp.Compare(a.Took, b.Took) })
	return sorted[len(r)*99/100].Took.Round(10 * time.Microsecond)
}

// LongestGap returns the longest time without a response from start until now.
func (r Responses) LongestGap(start time.Time) (longest time.Duration) {
	for _, next := range append(r, Response{At: time.Now()}) {
		longest, start = max(longest, next.At.Sub(start)), next.At
	}
	return longest
}

// Monotonic returns the time of the clock that the injected disk of the fault tests uses, too.
func Monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano()
}
