package repository

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/petstore/domain"
)

// A txFunc is what a caller of InTx passes.
type txFunc = func(context.Context, domain.Repositories) error

// A txContext is the context of a txFunc: the caller's values without the caller's
// cancellation, because SQLite rolls back the whole batch when a statement is
// interrupted.
type txContext struct{ caller context.Context }

// inTxKey is a key for which only the contexts of txFuncs have a value.
type inTxKey struct{}

func (txContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (txContext) Done() <-chan struct{}       { return nil }
func (txContext) Err() error                  { return nil }

func (c txContext) Value(key any) any {
	if key == (inTxKey{}) {
		return c
	}
	return c.caller.Value(key)
}

// A pendingTx is a txFunc in the queue or in a batch of the writer. Its caller may
// withdraw it until the writer starts it; then only the writer uses it until done is
// closed.
type pendingTx struct {
	ctx     context.Context
	fn      txFunc
	taken   atomic.Bool // started or withdrawn
	started bool
	done    chan struct{}

	needsSavepoint bool // it failed after it changed something, or may have

	err      error
	panicked any
}

// start reports whether the function may run. The function may run more than once.
func (p *pendingTx) start() bool {
	p.started = p.started || p.taken.CompareAndSwap(false, true)
	return p.started
}

// withdraw reports whether the function will never run.
func (p *pendingTx) withdraw() bool { return p.taken.CompareAndSwap(false, true) }

func (p *pendingTx) run(repositories domain.Repositories) {
	defer func() { p.panicked = recover() }()
	p.err = nil // of an earlier run
	p.err = p.fn(txContext{p.ctx}, repositories)
}

func (p *pendingTx) failed() bool { return p.err != nil || p.panicked != nil }

// failure returns the error or panic of the function as text.
func (p *pendingTx) failure() string { return fmt.Sprint(cmp.Or[any](p.panicked, p.err)) }

// result returns the caller's error, or panics as the function did.
func (p *pendingTx) result() error {
	if p.panicked != nil {
		panic(p.panicked) //nolint:forbidigo // the caller's own panic, on the caller's goroutine
	}
	return p.err
}

// reply returns the results of a batch to its callers. A failed commit is the error of
// all callers, also of those whose function failed: it may have failed because of a
// change of another function, which is rolled back now.
func reply(batch []*pendingTx, commitErr error) {
	for i, p := range batch {
		if commitErr != nil && p.panicked == nil {
			p.err = commitErr
		}
		close(p.done)
		batch[i] = nil
	}
}
