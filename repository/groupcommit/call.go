package groupcommit

import (
	"context"
	"time"
)

// A call is a call of Do or Create.
type call[R, C any] struct {
	ctx      context.Context
	fn       func(context.Context, R) error // nil for a creation
	creation C
	orders   chan order // from leaders; nil if the call found no leader

	repositories R // set before toRun
	err          error
	panicked     any
	exited       bool // fn has called runtime.Goexit, so the goroutine of the caller ends
}

// An order is what a caller is to do next.
type order int

const (
	toLead   order = iota // run the next batch
	toRun                 // run fn
	toReturn              // return the result
)

// run runs the function. Its context makes the queue reject nested calls.
func (c *call[R, C]) run(q *Queue[R, C]) {
	c.err, c.panicked, c.exited = nil, nil, true
	defer func() {
		if c.panicked = recover(); c.panicked != nil {
			c.exited = false
		}
	}()
	c.err = c.fn(context.WithValue(context.WithoutCancel(c.ctx), q, true), c.repositories)
	c.exited = false
}

// expired reports whether the deadline has passed or the context has ended. If Begin has waited until the
// deadline, it may return a moment before the context ends.
func (c *call[R, C]) expired() bool {
	deadline, limited := c.ctx.Deadline()
	return c.ctx.Err() != nil || limited && time.Until(deadline) <= 0
}

func (c *call[R, C]) failed() bool { return c.err != nil || c.panicked != nil || c.exited }

// result returns the error of the call, or panics as the function did.
func (c *call[R, C]) result() error {
	if c.panicked != nil {
		panic(c.panicked) //nolint:forbidigo // the caller's own panic, on the caller's goroutine
	}
	return c.err
}
