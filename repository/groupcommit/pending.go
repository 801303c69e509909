package groupcommit

import (
	"context"
	"sync/atomic"
)

// A pendingTx is a function in the queue or in a batch. Its caller may withdraw it until it
// starts; then only the queue's goroutine uses it until done is closed.
type pendingTx[R any] struct {
	ctx     context.Context // has a value for the queue, so that Do notices a nested call
	fn      func(context.Context, R) error
	taken   atomic.Bool // started or withdrawn
	started bool
	done    chan struct{}

	err      error
	panicked any
}

// start reports whether the function may run. The function may run more than once.
func (p *pendingTx[R]) start() bool {
	p.started = p.started || p.taken.CompareAndSwap(false, true)
	return p.started
}

// withdraw reports whether the function will never run.
func (p *pendingTx[R]) withdraw() bool { return p.taken.CompareAndSwap(false, true) }

func (p *pendingTx[R]) run(repositories R) {
	defer func() { p.panicked = recover() }()
	p.err = nil // of an earlier run
	p.err = p.fn(context.WithoutCancel(p.ctx), repositories)
}

func (p *pendingTx[R]) failed() bool { return p.err != nil || p.panicked != nil }

// result returns the caller's error, or panics as the function did.
func (p *pendingTx[R]) result() error {
	if p.panicked != nil {
		panic(p.panicked) //nolint:forbidigo // the caller's own panic, on the caller's goroutine
	}
	return p.err
}
