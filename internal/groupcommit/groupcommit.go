// Package groupcommit runs the transactions of many callers as one transaction of the database. The callers
// share its commit, because waiting until a commit is durable is what makes a write slow.
//
//	callers            the leader                               callers
//	  Do(f1) ─────┐    ┌─ BEGIN ────────────────────────────┐
//	  Do(f2) ─────┼──> │  f1(R), f2(R), f3(R)               │ ──┬─> nil
//	  Do(f3) ─────┘    └─ COMMIT: one sync of the disk ─────┘   ├─> the error of f2
//	                                                            └─> nil
//
// A caller gives the Queue a function, and data that says what the function reads. Package internal/batch makes
// batches of the calls. The leader of a batch begins a transaction on its own goroutine, takes the calls that are
// queued by then, and runs one function after the other. No caller gets a result that is not durable. If the commit
// itself fails, all callers get its error.
//
// # Calls that fail
//
// A call that fails without a write and without a failed statement gets its error, and the others are
// committed. Nearly all calls that fail do so.
//
// After a write or a failed statement, the transaction is rolled back. The other calls run again in a
// transaction without that call, which then runs in a transaction of its own. From the second such failure on,
// each remaining call does. There are no savepoints: after a savepoint, SQLite copies each page that changes.
//
// A statement that runs just before the commit may fail, too. It is not known which call has caused it, so each call
// runs alone.
//
// If the database ended the transaction, as when the connection is lost, all callers get the error. After a
// conflict with another process, such as a deadlock, the transaction runs again, up to three times.
//
// So a function may run more than once. It must have no effect except through its repositories.
//
// # Panics
//
// A panic of a function is a failure of its call, and Do panics with a Panic. So is runtime.Goexit, as of
// testing.T.FailNow. As it also ends the goroutine of the leader, Do then does not return to the leader, but
// all other calls of the batch run before that goroutine ends.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/engine"
)

const (
	// queueSize is the maximum number of queued calls. A further call gets batch.ErrQueueFull.
	queueSize = 1024
	// maxBatch is the maximum number of calls that share a commit.
	maxBatch = 256
	// maxDelay is how long a leader waits, at most, for as many calls as the last batch had.
	maxDelay = time.Millisecond
)

// ErrNested is the error of a call within a function of the same Queue.
var ErrNested = errors.New("InTx was called within a transaction of the same store")

// An Error is an error of Do that the function did not return. There are three cases: the function has not run, its
// transaction was rolled back, or it is not known whether its transaction is durable.
type Error struct{ Err error }

// Error returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// A Panic is the value of a panic of Do.
type Panic struct {
	Value any    // the value with which the function panicked, or an error after runtime.Goexit
	Stack []byte // the stack of the function, which may have run on another goroutine
}

// Error returns the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Options are the options of a Queue. R is the type of the repositories that a function of a caller gets, C is the type
// of the data of a call.
type Options[R Repositories[C], C any] struct {
	Timeout time.Duration // how long a call waits for the begin of its transaction, 0 for any time
	New     func() R      // returns the repositories of a transaction
	// Observe, if not nil, is called after each commit, also one that failed, with the number of calls that
	// shared it and the time it took. The time includes the wait for other processes.
	Observe func(calls int, took time.Duration)
}

// Repositories are what the functions of a transaction use.
type Repositories[C any] interface {
	// Ahead returns what engine.Database.Begin may read ahead for calls, see there. data is that of the calls that are queued
	// before Begin. Until the transaction has begun, they may be withdrawn, and others may arrive.
	Ahead(data []C) (queries []engine.Query, done func())
	// Begun says that the transaction has begun.
	Begun(tx *Tx)
	// Commit writes what the functions have collected, calls commit and returns its error. After an
	// engine.NotCommittedError, each call runs again alone. No caller of the transaction returns before Commit, so it can
	// invalidate caches.
	Commit(commit func() error) error
}

// A Tx is the transaction of a batch.
type Tx struct {
	engine.Tx
	wrote bool // the current call has written something
}

// Wrote says that the current call has written something. If it fails, the transaction is rolled back.
func (t *Tx) Wrote() { t.wrote = true }

// A Queue runs functions in transactions. It is safe for concurrent use.
type Queue[R Repositories[C], C any] struct {
	database engine.Database
	options  Options[R, C]
	calls    *batch.Group[*call[R, C]]
}

// A call is a call of Do.
type call[R, C any] struct {
	ctx  context.Context
	fn   func(context.Context, R) error
	data []C

	ended    bool // whether err or panicked is the result
	err      error
	panicked *Panic
}

// NewQueue returns a Queue. The caller must close it before it closes the database.
func NewQueue[R Repositories[C], C any](database engine.Database, o Options[R, C]) *Queue[R, C] {
	q := &Queue[R, C]{database: database, options: o}
	q.calls = batch.New(batch.Options{Size: maxBatch, Queue: queueSize, Delay: maxDelay, Timeout: o.Timeout}, q.run)
	return q
}

// Close rejects new calls and returns when the queued ones are committed. It may be called again.
func (q *Queue[R, C]) Close() { q.calls.Close() }

// Waiting returns the number of callers that are in Do.
func (q *Queue[R, C]) Waiting() int { return q.calls.Waiting() }

// Do runs fn in a transaction and returns nil when the transaction is durable. If fn fails, its changes are
// rolled back, and Do returns the error of fn, or panics with a Panic. Any other error is an *Error, except
// ErrNested, for a ctx that comes from a function of the same Queue.
//
// If ctx ends or Options.Timeout is over before the transaction has begun, Do returns and fn never runs. Later, Do waits
// for the commit.
//
// fn may run on the goroutine of another caller, and more than once. Its context has the values of ctx, but
// does not end, because SQLite would roll back the whole batch when a statement is interrupted. fn must not
// use its repositories in another goroutine, nor after it has returned. data is for Repositories.Ahead.
func (q *Queue[R, C]) Do(ctx context.Context, fn func(context.Context, R) error, data ...C) error {
	if ctx.Value(q) != nil {
		return ErrNested
	}
	c := &call[R, C]{ctx: ctx, fn: fn, data: data}
	err := q.calls.Do(ctx, c)
	switch {
	case !c.ended:
		return &Error{err}
	case c.panicked != nil:
		panic(c.panicked) //nolint:forbidigo // the caller's own panic, on the caller's goroutine
	}
	return c.err
}

func (c *call[R, C]) failed() bool { return c.err != nil || c.panicked != nil }

// end sets the result of calls. Their transaction has ended. An error of the transaction is the result of all,
// also of a call that failed: it may have failed because of a write of another call, which is rolled back now.
func end[R, C any](err error, calls ...*call[R, C]) {
	for _, c := range calls {
		if err != nil && c.panicked == nil {
			c.err = &Error{err}
		}
		c.ended = true
	}
}
