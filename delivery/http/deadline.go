package http

import (
	"context"
	"sync/atomic"
	"time"
)

// A deadline is the context of a request with a deadline. Its timer is created by the
// first call of Done or Deadline, which a response from the page cache does not need.
// Before that, Err does not report that the deadline has passed.
type deadline struct {
	context.Context // that of net/http
	at              time.Time
	timed           atomic.Pointer[timedContext]
}

type timedContext struct {
	context.Context
	cancel context.CancelFunc
}

// startTimer returns the context with a timer, which the first call creates.
func (d *deadline) startTimer() context.Context {
	if timed := d.timed.Load(); timed != nil {
		return timed
	}
	ctx, cancel := context.WithDeadline(d.Context, d.at)
	if timed := (&timedContext{ctx, cancel}); d.timed.CompareAndSwap(nil, timed) {
		return timed
	}
	cancel() // a concurrent call created it
	return d.timed.Load()
}

// end stops the timer if it was created.
func (d *deadline) end() {
	if timed := d.timed.Load(); timed != nil {
		timed.cancel()
	}
}

func (d *deadline) Deadline() (time.Time, bool) { return d.startTimer().Deadline() }
func (d *deadline) Done() <-chan struct{}       { return d.startTimer().Done() }

// Err implements context.Context. It does not create the timer.
func (d *deadline) Err() error {
	if timed := d.timed.Load(); timed != nil {
		return timed.Err()
	}
	return d.Context.Err()
}

// Value implements context.Context. It uses the context with the timer if there is one, so
// that package context needs no goroutine for a context derived from this one.
func (d *deadline) Value(key any) any {
	if timed := d.timed.Load(); timed != nil {
		return timed.Value(key)
	}
	return d.Context.Value(key)
}
