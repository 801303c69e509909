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
	"net/http"
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

// A Ledger has the outcomes of the requests of all clients. Its methods are safe for concurrent use, but
// Check is for after the clients were stopped.
type Ledger struct {
	mu            sync.Mutex
	sales         map[string]*sale
	counts        Counts
	writes, reads Responses
	wrong         []string
}

// Counts are how many requests of sales had each outcome, and how many responses were 503.
type Counts struct{ Acknowledged, Refused, Unknown, Unavailable int }

func (c Counts) String() string {
	return fmt.Sprintf("%d requests acknowledged, %d refused, %d unknown, %d responses with 503", c.Acknowledged, c.Refused, c.Unknown, c.Unavailable)
}

// New returns an empty Ledger.
func New() *Ledger { return &Ledger{sales: map[string]*sale{}} }

// newSale returns a new sale, the i-th of a client.
func (l *Ledger) newSale(name string, i int) *sale {
	s := &sale{name: name, category: int64(i), keyed: i%2 == 0, cancelled: i%3 == 0}
	for n := range s.steps {
		s.steps[n] = step{never, never}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sales[name] = s
	return s
}

func (l *Ledger) addWrong(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// count records the outcome of a request.
func (l *Ledger) count(method string, status int, o outcome, r Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if status == http.StatusServiceUnavailable {
		l.counts.Unavailable++
	}
	switch {
	case method == http.MethodGet:
		if o == acknowledged {
			l.reads = append(l.reads, r)
		}
	case o == acknowledged:
		l.counts.Acknowledged++
		l.writes = append(l.writes, r)
	case o == unknown:
		l.counts.Unknown++
	default:
		l.counts.Refused++
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

// Writes returns the responses from a time on that acknowledged a write.
func (l *Ledger) Writes(from time.Time) Responses { return l.since(from, &l.writes) }

// Reads returns the responses from a time on with a page of animals.
func (l *Ledger) Reads(from time.Time) Responses { return l.since(from, &l.reads) }

func (l *Ledger) since(from time.Time, all *Responses) Responses {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, _ := slices.BinarySearchFunc(*all, from, func(r Response, t time.Time) int { return r.At.Compare(t) })
	return slices.Clone((*all)[first:])
}

// A Response is when a response was read whole, and how long after its request was sent.
type Response struct {
	At   time.Time
	Took time.Duration
}

// Responses are in the order of their times.
type Responses []Response

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
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails only for an unknown clock
	return now.Nano()
}
