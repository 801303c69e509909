package http

import (
	"context"
	"sync/atomic"
	"time"
)

// A deadline is a context that ends a while after somebody first waits for it: that
// is when the store is asked, not when a slow client begins to send. A request that
// is answered from memory never waits, and is spared the timer, which would make its
// answer a third more expensive.
type deadline struct {
	context.Context // of the request
	timeout         time.Duration
	timed           atomic.Pointer[timedContext]
}

type timedContext struct {
	context.Context
	cancel context.CancelFunc
}

// wait is the context with its timer.
func (d *deadline) wait() context.Context {
	if timed := d.timed.Load(); timed != nil {
		return timed
	}
	ctx, cancel := context.WithTimeout(d.Context, d.timeout)
	if timed := (&timedContext{ctx, cancel}); d.timed.CompareAndSwap(nil, timed) {
		return timed
	}
	cancel() // another was faster
	return d.timed.Load()
}

// end stops the timer, if there is one.
func (d *deadline) end() {
	if timed := d.timed.Load(); timed != nil {
		timed.cancel()
	}
}

func (d *deadline) Deadline() (time.Time, bool) { return d.wait().Deadline() }
func (d *deadline) Done() <-chan struct{}       { return d.wait().Done() }

// Err asks nobody to wait: the time has not begun to run before somebody did.
func (d *deadline) Err() error {
	if timed := d.timed.Load(); timed != nil {
		return timed.Err()
	}
	return d.Context.Err()
}

// Value asks the context with the timer where there is one, so that contexts made
// of this one find it and need no goroutine to watch.
func (d *deadline) Value(key any) any {
	if timed := d.timed.Load(); timed != nil {
		return timed.Value(key)
	}
	return d.Context.Value(key)
}
