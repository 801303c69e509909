// Package ledger sells animals with many clients of a running service, keeps a ledger of the
// responses, and compares the store with it. Only tests import it.
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
type step struct {
	sent, acknowledged int64
	period             int
}

func newSale(name string, i int) *sale {
	s := &sale{name: name, category: int64(i), keyed: i%2 == 0, cancelled: i%3 == 0}
	for n := range s.steps {
		s.steps[n] = step{sent: never, acknowledged: never}
	}
	return s
}

// bounds returns the first and the last step that the store may have reached at a time: the
// last one that was acknowledged, and the last one that was sent and not refused.
func (s *sale) bounds(at int64) (least, most int) {
	for n := added; n < steps; n++ {
		if s.steps[n].acknowledged <= at {
			least = n
		}
		if s.steps[n].sent <= at {
			most = n
		}
	}
	return least, most
}

// A Ledger has the outcomes of the requests of all clients. It is safe for concurrent use.
type Ledger struct {
	mu            sync.Mutex
	sales         map[string]*sale
	periods       []Result // with the numbers of requests
	writes, reads Responses
	unavailable   int
	wrong         []string
}

// New returns an empty Ledger.
func New() *Ledger { return &Ledger{sales: map[string]*sale{}, periods: make([]Result, 1)} }

// Begin starts a period. What is sent from now on belongs to it.
func (l *Ledger) Begin(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.periods = append(l.periods, Result{Name: name})
}

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
		s.sent, s.period = Monotonic(), len(l.periods)-1
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
func (l *Ledger) count(s *step, o outcome, r Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	period := &l.periods[s.period]
	switch o {
	case acknowledged:
		period.Acknowledged++
		l.writes = append(l.writes, r)
	case conflict, refused:
		period.Refused++
	case unknown:
		period.Unknown++
	}
}

// Wrong returns the responses that no service may send, such as a 5xx other than a 503 with
// Retry-After, or a conflict of an order that nobody else has sent.
func (l *Ledger) Wrong() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.wrong)
}

// Unavailable returns the number of responses with 503.
func (l *Ledger) Unavailable() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unavailable
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

// Total returns the numbers of requests of all periods.
func (l *Ledger) Total() (total Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.periods {
		total.Add(p)
	}
	return total
}

func (l *Ledger) String() string {
	total := l.Total()
	return fmt.Sprintf("%d requests acknowledged, %d refused, %d unknown", total.Acknowledged, total.Refused, total.Unknown)
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
