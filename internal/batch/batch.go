// Package batch lets goroutines that make the same kind of call share one run: one transaction, or one
// query. Calls that arrive while a run goes on are queued, and share the next one. So batches grow with the
// load, and a caller that is alone waits for nobody.
//
// A caller that finds no leader becomes the leader. It runs the next batch on its own goroutine, and then
// makes a queued caller the leader. The package starts no goroutine, except one for a moment when a call may have
// reached its deadline.
package batch

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The errors of Do for a call that no run gets.
var (
	ErrClosed    = errors.New("closed")
	ErrQueueFull = errors.New("too many calls are queued")
)

// errAborted is the error of the other calls of a batch after a panic or runtime.Goexit of its run.
var errAborted = errors.New("the goroutine that ran the batch has panicked or exited")

// yields is how often a leader yields to the scheduler, at most, before it takes a batch. With few cores,
// goroutines that are ready to call Do would otherwise run alone, one after the other.
const yields = 8

// Options are the options of New.
type Options struct {
	Size  int // the maximum number of calls in a batch, or 0 for any number
	Queue int // the maximum number of queued calls, or 0 for any number
	// Delay is how long a leader waits, at most, until as many calls have arrived as the last batch had:
	// callers that shared a run call again a moment later. Without Delay a leader only yields.
	Delay time.Duration
	// Leave lets Do return at its deadline and when its context ends, even if a run has its call. Such a
	// caller must no longer use what run may write to. Without Leave, Do waits for the end of the run.
	Leave bool
	// Timeout is how long after the beginning of Do its deadline is. 0 means that only its context limits it.
	Timeout time.Duration
}

// A Group runs calls of type C in batches, one batch at a time. It is safe for concurrent use.
type Group[C any] struct {
	options Options
	run     Run[C]
	waiting atomic.Int64 // the number of calls that are queued or run

	mu     sync.Mutex
	idle   sync.Cond     // signalled when nobody leads any more
	leader C             // the value of the leader's call
	queue  []*call[C]    // without the call of the leader
	taken  []*call[C]    // the calls of the run, without that of the leader
	led    bool          // whether there is a leader
	timer  *time.Timer   // runs expire; one timer for all calls costs less than one for each
	timed  bool          // whether the timer runs
	last   int           // the size of the last batch
	enough chan struct{} // receives when as many calls are queued as the last batch had
	closed bool
}

// A Run runs the calls of a batch, see New. ctx and deadline are those of the leader.
type Run[C any] func(ctx context.Context, deadline time.Time, take func() []C) error

// A call is a call of Do.
type call[C any] struct {
	ctx      context.Context
	deadline time.Time // of ctx and of Options.Timeout, whichever is earlier
	value    C
	turn     chan bool // receives once: true if the caller is to lead, false if the call has its result
	err      error
}

// New returns a Group. The leader calls run, which calls take when it is ready, at most once: calls that have
// arrived by then are in the batch, the call of the leader first. run stores the results in the calls. If run
// fails before it calls take, only the leader gets the error, and another call leads.
//
// All calls of a batch return the error of run. But if the leader has reached its deadline or its context has
// ended, only the leader does: the others are queued again, and the newest leads, because it has the most time
// left. So run must not return an error after it did something that must not be repeated.
//
// If run panics or calls runtime.Goexit, the goroutine of the leader does, and the other calls of the batch
// return an error.
func New[C any](o Options, run Run[C]) *Group[C] {
	o.Size, o.Queue = cmp.Or(o.Size, math.MaxInt), cmp.Or(o.Queue, math.MaxInt)
	o.Timeout = cmp.Or(o.Timeout, math.MaxInt64)
	g := &Group[C]{options: o, run: run, enough: make(chan struct{}, 1)}
	g.idle.L = &g.mu
	g.timer = time.AfterFunc(math.MaxInt64, g.expire)
	g.timer.Stop()
	return g
}

// Do returns when a run with the call has ended. If ctx ends while the call is queued, Do returns the error
// of ctx, and no run gets the call. At its deadline it returns context.DeadlineExceeded in the same way. It
// returns ErrClosed after Close, and ErrQueueFull.
func (g *Group[C]) Do(ctx context.Context, value C) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &call[C]{ctx: ctx, deadline: Deadline(ctx, g.options.Timeout), value: value, turn: make(chan bool, 1)}
	if err := g.enter(c); err != nil {
		return err
	}
	defer g.waiting.Add(-1)
	leads, err := g.follow(c)
	if leads {
		return g.lead(c)
	}
	return err
}

// Deadline returns the deadline of ctx, or the end of a timeout that begins now if that is earlier.
func Deadline(ctx context.Context, timeout time.Duration) time.Time {
	deadline := time.Now().Add(timeout) //nolint:forbidigo // a deadline
	if earlier, limited := ctx.Deadline(); limited && earlier.Before(deadline) {
		return earlier
	}
	return deadline
}

// Waiting returns the number of calls that are queued or run.
func (g *Group[C]) Waiting() int { return int(g.waiting.Load()) }

// Close rejects new calls and returns when the queued ones have run. It may be called again.
func (g *Group[C]) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for g.led {
		g.idle.Wait()
	}
	g.timer.Stop()
}

// enter queues a call, and makes its caller the leader if there is none.
func (g *Group[C]) enter(c *call[C]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case len(g.queue) >= g.options.Queue:
		return ErrQueueFull
	}
	g.queue = append(g.queue, c)
	g.waiting.Add(1)
	if !g.led {
		g.promote()
	}
	g.watch()
	if len(g.queue) == g.last-1 {
		select {
		case g.enough <- struct{}{}:
		default:
		}
	}
	return nil
}

// promote makes the first queued caller the leader. With Leave it is the newest, because it has the most time
// left: the others return at their deadlines.
func (g *Group[C]) promote() {
	if g.led = len(g.queue) > 0; !g.led {
		g.idle.Broadcast()
		return
	}
	next := 0
	if g.options.Leave {
		next = len(g.queue) - 1
	}
	g.queue[next].turn <- true
	g.queue = slices.Delete(g.queue, next, next+1)
}

// follow waits until the caller is to lead, and returns true, or until its call has a result.
func (g *Group[C]) follow(c *call[C]) (leads bool, err error) {
	select {
	case leads = <-c.turn:
		return leads, c.err
	case <-c.ctx.Done():
	}
	g.mu.Lock()
	g.endExpired()
	g.mu.Unlock()
	leads = <-c.turn
	return leads, c.err
}

// endExpired ends the queued calls, and with Leave those of the run, whose deadline or context has ended.
func (g *Group[C]) endExpired() {
	leaves := func(c *call[C]) bool {
		if c.err = Ended(c.ctx, c.deadline); c.err != nil {
			c.turn <- false
		}
		return c.err != nil
	}
	g.queue = slices.DeleteFunc(g.queue, leaves)
	if g.options.Leave {
		g.taken = slices.DeleteFunc(g.taken, leaves)
	}
}

// watch starts the timer for the earliest deadline, unless it runs or no call waits. While it runs, each new call
// has a later deadline, or a context that ends before.
func (g *Group[C]) watch() {
	if g.timed {
		return
	}
	waiting := g.queue
	if g.options.Leave {
		waiting = slices.Concat(g.queue, g.taken)
	}
	if len(waiting) == 0 {
		return
	}
	g.timed = true
	first := slices.MinFunc(waiting, func(a, b *call[C]) int { return a.deadline.Compare(b.deadline) })
	g.timer.Reset(time.Until(first.deadline))
}

// expire ends the calls that have reached their deadlines when the timer has fired.
func (g *Group[C]) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endExpired()
	g.timed = false
	g.watch()
}

// lead runs a batch with the call of the leader.
func (g *Group[C]) lead(own *call[C]) (err error) {
	err = errAborted // unless run returns
	defer func() { g.handOver(err) }()
	g.gather(own.ctx)
	g.leader = own.value
	err = g.run(own.ctx, own.deadline, g.take)
	if ended := Ended(own.ctx, own.deadline); err != nil && ended != nil {
		g.requeue()
		err = ended
	}
	return err
}

// Ended returns an error if a context has ended or a deadline is over. A context may end a moment after its deadline.
func Ended(ctx context.Context, deadline time.Time) error {
	err := ctx.Err()
	if err == nil && time.Until(deadline) <= 0 {
		err = context.DeadlineExceeded
	}
	return err
}

// gather waits for other callers. It yields again only if that may bring more of them: on a machine with
// many cores, each yield of a caller that is alone would wake an idle core.
func (g *Group[C]) gather(ctx context.Context) {
	before := -1
	for range yields {
		queued, missing := g.count()
		if queued == before && missing <= 0 {
			return
		}
		before = queued
		runtime.Gosched()
	}
	if _, missing := g.count(); missing <= 0 || g.options.Delay == 0 {
		return
	}
	delay := time.NewTimer(g.options.Delay)
	defer delay.Stop()
	select {
	case <-g.enough:
	case <-delay.C:
	case <-ctx.Done():
	}
}

// count returns the number of queued calls, and how many are missing for a batch as large as the last one.
func (g *Group[C]) count() (queued, missing int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue), g.last - 1 - len(g.queue)
}

// Peek returns the calls that take would return now, and perhaps some that have just ended. Only run may call it,
// before it calls take. Meanwhile, calls may still be withdrawn, and others may arrive.
func (g *Group[C]) Peek() []C {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first(min(len(g.queue), g.options.Size-1))
}

// first returns the call of the leader and the first n of the queue.
func (g *Group[C]) first(n int) []C {
	calls := append(make([]C, 0, n+1), g.leader)
	for _, c := range g.queue[:n] {
		calls = append(calls, c.value)
	}
	return calls
}

// take takes the calls of a batch from the queue, without those that have ended, and returns them after that of the
// leader.
func (g *Group[C]) take() []C {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endExpired()
	n := min(len(g.queue), g.options.Size-1)
	calls := g.first(n)
	g.taken = slices.Clone(g.queue[:n])
	g.queue = slices.Delete(g.queue, 0, n)
	g.last = n + 1
	select {
	case <-g.enough: // it was about this batch
	default:
	}
	return calls
}

// requeue queues the calls of the run again, because its leader has ended it. The newest call is to lead: if a
// run first has to connect to a server, older calls might all reach their deadlines meanwhile.
func (g *Group[C]) requeue() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue, g.taken = append(g.taken, g.queue...), nil
	g.endExpired()
	g.timed = false                                             // the timer may run for a newer call
	if last := len(g.queue) - 1; last > 0 && !g.options.Leave { // with Leave, the newest leads anyway
		g.queue = slices.Insert(g.queue[:last], 0, g.queue[last])
	}
	g.watch()
}

// handOver gives the other calls of the run their result, and makes another caller the leader.
func (g *Group[C]) handOver(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.taken {
		c.err = err
		c.turn <- false
	}
	g.leader, g.taken = *new(C), nil
	g.promote()
}
