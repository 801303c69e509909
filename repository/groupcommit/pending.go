package groupcommit

import (
	"context"
	"sync/atomic"
)

// A pendingTx is a function or a creation in the queue or in a batch. Its caller may withdraw it until it
// starts; then only the queue's goroutine uses it until done is closed.
type pendingTx[R, C any] struct {
	ctx      context.Context                // has a value for the queue, so that Do notices a nested call
	fn       func(context.Context, R) error // nil for a creation
	creation C
	taken    atomic.Bool // started or withdrawn
	started  bool
	done     chan struct{}

	err      error
	panicked any
}

// start reports whether the function may run. The function may run more than once.
func (p *pendingTx[R, C]) start() bool {
	p.started = p.started || p.taken.CompareAndSwap(false, true)
	return p.started
}

// withdraw reports whether the function will never run.
func (p *pendingTx[R, C]) withdraw() bool { return p.taken.CompareAndSwap(false, true) }

// context returns the context of the caller for its transaction, which does not end.
func (p *pendingTx[R, C]) context() context.Context {
	return context.WithoutCancel(p.ctx)
}

func (p *pendingTx[R, C]) failed() bool { return p.err != nil || p.panicked != nil }

// result returns the caller's error, or panics as the function did.
func (p *pendingTx[R, C]) result() error {
	if p.panicked != nil {
		panic(p.panicked) //nolint:forbidigo // the caller's own panic, on the caller's goroutine
	}
	return p.err
}
