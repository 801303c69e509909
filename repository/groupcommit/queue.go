package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/repository/engine"
)

const (
	// queueSize is the maximum number of queued calls. A further call gets ErrQueueFull.
	queueSize = 1024
	// maxBatch is the maximum number of calls that share a commit.
	maxBatch = 256
	// yields is how often a leader yields to the scheduler before it begins a transaction.
	yields = 8
	// maxBatchDelay is how long a leader waits, at most, until as many calls are queued as the last batch
	// had.
	maxBatchDelay = time.Millisecond
)

// The errors of the Queue itself. Do and Create return ErrNested as it is, and the others as an *Error.
var (
	ErrQueueFull = errors.New("too many transactions are queued")
	ErrClosed    = errors.New("the store is closed")
	ErrNested    = errors.New("InTx was called within a transaction of the same store")
)

// An Error is an error of Do or Create that the function or the creation did not return. There are three
// cases: the function or the creation has not run, its transaction was rolled back, or it is not known
// whether its transaction is durable.
type Error struct{ Err error }

// Error returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Options are the options of NewQueue.
type Options struct {
	// Commit commits a batch: it calls commit and returns its error. No caller of the batch returns before
	// Commit does, so Commit can invalidate caches for the changes first.
	Commit func(_ engine.Changes, commit func() error) error
	// Observe, if not nil, is called after each commit, also one that failed, with the number of calls that
	// shared it and the time it took. The time includes the wait for other processes.
	Observe func(batch int, took time.Duration)
}

// A Queue runs functions and creations in transactions. R is the type of the repositories that a function
// gets, C is the type of a creation. A Queue is safe for concurrent use.
type Queue[R, C any] struct {
	database     engine.Database
	options      Options
	repositories func(*Tx) R
	create       func(R, context.Context, []C) error // runs creations together
	waiting      atomic.Int64                        // the number of callers of Do and Create
	ran          chan struct{}                       // receives when a caller has run its function for the leader

	mu     sync.Mutex
	idle   sync.Cond     // signalled when nobody leads any more
	queued []*call[R, C] // calls that are in no batch yet, without the call of the leader
	led    bool          // whether there is a leader
	last   int           // the size of the last batch
	enough chan struct{} // closed when the next batch is as large as the last one; nil unless the leader waits for that
	closed bool
}

// NewQueue returns a Queue. The caller must close it before it closes the database. repositories returns
// the repositories for a transaction. create runs creations with them.
func NewQueue[R, C any](
	database engine.Database, o Options, repositories func(*Tx) R, create func(R, context.Context, []C) error,
) *Queue[R, C] {
	q := &Queue[R, C]{database: database, options: o, repositories: repositories, create: create, ran: make(chan struct{})}
	q.idle.L = &q.mu
	return q
}

// Close rejects new calls and returns when the queued ones are committed. It may be called again.
func (q *Queue[R, C]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for q.led {
		q.idle.Wait()
	}
}

// Waiting returns the number of callers that are in Do or Create.
func (q *Queue[R, C]) Waiting() int { return int(q.waiting.Load()) }

// Do runs fn in a transaction and returns nil when the transaction is durable. If fn fails, its changes are
// rolled back, and Do returns the error of fn, or panics as fn did. Any other error is an *Error, except
// ErrNested, for a ctx that comes from a function of the same Queue.
//
// If ctx ends before the transaction has begun, Do returns and fn never runs. If ctx ends later, Do waits
// for the commit.
//
// fn runs on the goroutine of the caller, perhaps more than once. Its context has the values of ctx, but
// does not end, because SQLite would roll back the whole batch when a statement is interrupted. fn must not
// use its repositories in another goroutine, nor after it has returned.
func (q *Queue[R, C]) Do(ctx context.Context, fn func(context.Context, R) error) error {
	return q.do(&call[R, C]{ctx: ctx, fn: fn})
}

// Create runs a creation in a transaction and returns nil when the transaction is durable. It returns errors
// as Do does.
func (q *Queue[R, C]) Create(ctx context.Context, creation C) error {
	return q.do(&call[R, C]{ctx: ctx, creation: creation})
}

func (q *Queue[R, C]) do(c *call[R, C]) error {
	if c.ctx.Value(q) != nil {
		return ErrNested
	}
	if err := c.ctx.Err(); err != nil {
		return &Error{err}
	}
	q.waiting.Add(1)
	defer q.waiting.Add(-1)
	leads, err := q.enqueue(c)
	if err != nil {
		return &Error{err}
	}
	if leads {
		q.lead(c)
	} else {
		q.follow(c)
	}
	return c.result()
}

// enqueue makes the caller the leader if there is none, and returns true. Otherwise it adds the call to the
// queue.
func (q *Queue[R, C]) enqueue(c *call[R, C]) (leads bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false, ErrClosed
	case len(q.queued) == queueSize:
		return false, ErrQueueFull
	}
	if !q.led {
		q.led = true
		return true, nil
	}
	c.orders = make(chan order, 1) // a call has one order at a time, so that no leader waits to send it
	q.queued = append(q.queued, c)
	if q.enough != nil && q.callers() >= q.last {
		close(q.enough)
		q.enough = nil
	}
	return false, nil
}

// callers returns the number of calls that are ready for the next batch, including the call of the leader.
func (q *Queue[R, C]) callers() int { return 1 + len(q.queued) }

// follow obeys the orders of leaders until the call has a result or has led a batch. It withdraws the call
// when its context ends.
func (q *Queue[R, C]) follow(c *call[R, C]) {
	ended := c.ctx.Done()
	for {
		select {
		case o := <-c.orders:
			switch o {
			case toLead:
				q.lead(c)
				return
			case toRun:
				q.runForLeader(c)
			case toReturn:
				return
			}
		case <-ended:
			if q.withdraw(c) {
				return
			}
			ended = nil
		}
	}
}

func (q *Queue[R, C]) runForLeader(c *call[R, C]) {
	defer func() { q.ran <- struct{}{} }() // also when the function has called runtime.Goexit
	c.run(q)
}

// withdraw removes a call from the queue. It reports false if the call is in a batch already.
func (q *Queue[R, C]) withdraw(c *call[R, C]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.queued, c)
	if i < 0 {
		return false
	}
	q.queued = slices.Delete(q.queued, i, i+1)
	c.err = &Error{c.ctx.Err()}
	return true
}

// lead runs the next batch, and then makes the first queued call the leader.
func (q *Queue[R, C]) lead(own *call[R, C]) {
	defer q.handOver()
	q.gather(own.ctx)
	b := &batch[R, C]{queue: q, leader: own, start: time.Now()} //nolint:forbidigo // a duration, only for Observe
	tx, err := q.database.Begin(own.ctx)
	if err != nil && own.expired() {
		own.err = &Error{cmp.Or(own.ctx.Err(), context.DeadlineExceeded)}
		q.moveNewestToFront()
		return // the next leader begins its transaction with its own deadline
	}
	b.calls = q.take(own)
	if err != nil {
		b.reply(err)
		return
	}
	b.run(tx)
}

// moveNewestToFront makes the newest queued call the next leader. It has the most time left to begin a
// transaction: on PostgreSQL it may have to connect first. Older calls might all reach their deadlines
// before a transaction has begun.
func (q *Queue[R, C]) moveNewestToFront() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last := len(q.queued) - 1; last > 0 {
		q.queued = slices.Insert(q.queued[:last], 0, q.queued[last])
	}
}

// gather waits for other callers before a batch, as the documentation of the package says. It ends with
// ctx.
func (q *Queue[R, C]) gather(ctx context.Context) {
	for range yields {
		runtime.Gosched()
	}
	q.mu.Lock()
	if q.callers() >= q.last {
		q.mu.Unlock()
		return
	}
	enough := make(chan struct{})
	q.enough = enough
	q.mu.Unlock()
	select {
	case <-enough:
	case <-time.After(maxBatchDelay):
	case <-ctx.Done():
	}
	q.mu.Lock()
	q.enough = nil
	q.mu.Unlock()
}

// take removes the calls of a batch from the queue and returns them, with the call of the leader first.
func (q *Queue[R, C]) take(own *call[R, C]) []*call[R, C] {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = min(q.callers(), maxBatch)
	calls := append([]*call[R, C]{own}, q.queued[:q.last-1]...)
	q.queued = slices.Delete(q.queued, 0, q.last-1)
	return calls
}

// handOver makes the first queued call the leader, or reports to Close that there is no leader.
func (q *Queue[R, C]) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queued) == 0 {
		q.led = false
		q.idle.Broadcast()
		return
	}
	next := q.queued[0]
	q.queued = slices.Delete(q.queued, 0, 1)
	next.orders <- toLead
}
