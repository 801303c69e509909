package http

import (
	"context"
	"sync/atomic"
	"time"
)

// A deadline is the context of a request that also ends at a time. Its timer starts
// when Done is first called, which a response from the page cache never does. Until
// then Err does not report that the time has passed.
type deadline struct {
	context.Context // of the request
	at              time.Time
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
	ctx, cancel := context.WithDeadline(d.Context, d.at)
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

// Err implements context.Context, without a timer where there is none yet.
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
