package groupcommit

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"example.com/petstore/repository/engine"
)

const (
	// queueSize is how many functions may be queued; one more is rejected.
	queueSize = 1024
	// maxBatch is the maximum number of functions that share a commit.
	maxBatch = 256
	// gatherYields is how often the queue yields to the scheduler while it gathers a batch.
	gatherYields = 8
	// maxBatchDelay is how long a batch waits at most until it is as large as the last one.
	maxBatchDelay = time.Millisecond
	// tickInterval is how long the end of a caller's context may be noticed too late.
	tickInterval = 30 * time.Millisecond
)

// The errors of Queue.Do, apart from those of the function and of the database.
var (
	ErrQueueFull = errors.New("too many transactions are queued")
	ErrClosed    = errors.New("the store is closed")
	ErrNested    = errors.New("InTx was called within a transaction of the same store")
	ErrGoexit    = errors.New("a transaction function called runtime.Goexit")
)

// An Error is an error of Queue.Do that the function did not return: the function has not run,
// or its transaction was rolled back or is not known to be durable.
type Error struct{ Err error }

// Error returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Options are the options of NewQueue. All but Observe are required.
type Options struct {
	// Commit calls a function that commits changes, and returns its error. No caller gets its result
	// before.
	Commit func(_ engine.Changes, commit func() error) error
	// Observe, if not nil, is called after each commit with the number of functions that
	// shared it and the time it took, including the wait for other processes.
	Observe func(batch int, took time.Duration)
}

// A Queue runs functions in transactions. R are the repositories that a function gets. A Queue is safe
// for concurrent use.
type Queue[R, C any] struct {
	database     engine.Database
	options      Options
	repositories func(*Tx) R
	create       func(R, context.Context, []C) error

	queue   chan *pendingTx[R, C]
	waiting atomic.Int64    // callers of Do
	closing context.Context // ends when Close is called
	close   context.CancelFunc
	stopped chan struct{}                 // closed when the queued transactions are committed then
	tick    atomic.Pointer[chan struct{}] // closed and replaced at each tickInterval
	batch   []*pendingTx[R, C]            // current or last
}

// NewQueue returns a Queue, which the caller must close before the database. repositories makes
// the repositories of a transaction, in which create runs creations.
func NewQueue[R, C any](
	database engine.Database, o Options, repositories func(*Tx) R, create func(R, context.Context, []C) error,
) *Queue[R, C] {
	q := &Queue[R, C]{
		database: database, options: o, repositories: repositories, create: create,
		queue: make(chan *pendingTx[R, C], queueSize), stopped: make(chan struct{}),
	}
	q.closing, q.close = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	q.replaceTick()
	go q.run()
	go q.runTicks()
	return q
}

// Close returns once the queued transactions are committed. It may be called again.
func (q *Queue[R, C]) Close() {
	q.close()
	<-q.stopped
}

// Waiting returns the number of callers of Do.
func (q *Queue[R, C]) Waiting() int { return int(q.waiting.Load()) }

// Do queues fn and returns nil when its transaction is durable. Otherwise it returns the error of
// fn, or panics as fn did, and the changes of fn are rolled back; or it returns an *Error. When
// ctx ends before the transaction has begun, Do returns and fn never runs; later, Do waits for the commit.
//
// fn may run more than once. Its context has the values of ctx, and does not end: SQLite would
// roll back the whole batch when a statement is interrupted. fn must not use its repositories in
// another goroutine, or after its end.
func (q *Queue[R, C]) Do(ctx context.Context, fn func(context.Context, R) error) error {
	return q.do(ctx, &pendingTx[R, C]{ctx: context.WithValue(ctx, q, true), fn: fn, done: make(chan struct{})})
}

// Create queues a creation and returns nil when it is durable, otherwise as Do does.
func (q *Queue[R, C]) Create(ctx context.Context, creation C) error {
	return q.do(ctx, &pendingTx[R, C]{ctx: context.WithValue(ctx, q, true), creation: creation, done: make(chan struct{})})
}

func (q *Queue[R, C]) do(ctx context.Context, p *pendingTx[R, C]) error {
	if ctx.Value(q) != nil {
		return ErrNested
	}
	if err := ctx.Err(); err != nil {
		return &Error{err}
	}
	q.waiting.Add(1)
	defer q.waiting.Add(-1)
	if q.closing.Err() != nil {
		return &Error{ErrClosed}
	}
	select {
	case q.queue <- p:
	default:
		return &Error{ErrQueueFull}
	}
	if err := q.wait(ctx, p); err != nil {
		return &Error{err}
	}
	return p.result()
}

// wait returns nil when the transaction has ended, or an error when the function will never
// run. Most transactions end before the next tick, and ctx.Done would start the timer of a request.
func (q *Queue[R, C]) wait(ctx context.Context, p *pendingTx[R, C]) (err error) {
	select {
	case <-p.done:
		return nil
	case <-*q.tick.Load():
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-q.stopped: // p may have been queued too late
		err = ErrClosed
	}
	if p.withdraw() {
		return err
	}
	<-p.done
	return nil
}

// replaceTick replaces the channel of the next tick, and returns the previous one.
func (q *Queue[R, C]) replaceTick() *chan struct{} {
	next := make(chan struct{})
	return q.tick.Swap(&next)
}

// runTicks closes the last tick at the end.
func (q *Queue[R, C]) runTicks() {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			close(*q.replaceTick())
		case <-q.stopped:
			close(*q.tick.Load())
			return
		}
	}
}

func (q *Queue[R, C]) run() {
	quit := false
	defer func() {
		if !quit { // a function has called runtime.Goexit: continue in a new goroutine
			go q.run()
			return
		}
		close(q.stopped)
	}()
	for {
		select {
		case first := <-q.queue:
			q.commitAndReply(q.gather(first))
		case <-q.closing.Done():
			for len(q.queue) > 0 {
				q.commitAndReply(q.gather(<-q.queue))
			}
			quit = true
			return
		}
	}
}

// commitAndReply commits a batch, then returns the results to its callers. A failed commit is the
// error of all callers, also of those whose function failed: it may have failed because of a
// change of another function, which is rolled back now.
func (q *Queue[R, C]) commitAndReply(batch []*pendingTx[R, C]) {
	err := ErrGoexit
	defer func() {
		for i, p := range batch {
			if err != nil && p.panicked == nil {
				p.err = &Error{err}
			}
			close(p.done)
			batch[i] = nil
		}
	}()
	err = q.commit(batch)
}

// gather returns a batch: the first function and the queued ones. It yields to the scheduler,
// because with few cores the callers of the last commit have not queued their next function yet,
// and small batches would pay for a commit each. Then it waits for as many functions as the last
// batch had; a lone caller does not wait.
func (q *Queue[R, C]) gather(first *pendingTx[R, C]) []*pendingTx[R, C] {
	expected := len(q.batch)
	q.batch = append(q.batch[:0], first)
	for range gatherYields {
		runtime.Gosched()
		q.takeQueued()
	}
	if len(q.batch) < expected {
		q.waitForQueued(expected)
		q.takeQueued()
	}
	return q.batch
}

// takeQueued moves the queued functions to the batch.
func (q *Queue[R, C]) takeQueued() {
	for len(q.queue) > 0 && len(q.batch) < maxBatch {
		q.batch = append(q.batch, <-q.queue)
	}
}

// waitForQueued adds to the batch until it has n functions or maxBatchDelay has passed.
func (q *Queue[R, C]) waitForQueued(n int) {
	timeout := time.After(maxBatchDelay)
	for len(q.batch) < n {
		select {
		case p := <-q.queue:
			q.batch = append(q.batch, p)
		case <-timeout:
			return
		}
	}
}
