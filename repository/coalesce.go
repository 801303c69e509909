package repository

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

var (
	errManyRows = errors.New("a statement with many rows failed")
	// errStopped is the error of a statement that is not sent. No caller of InTx gets it,
	// because the batch runs again or fails.
	errStopped = errors.New("the batch is rolled back")
)

// A coalescer runs the functions of a batch so that statements of the same kind are sent
// as one with many rows (docs/coalescing.md). Each function is a coroutine: one of them
// runs at a time, until it ends or waits.
type coalescer struct {
	changes *changes
	enabled bool                          // else every statement is sent immediately
	yield   func(waitFor) bool            // of the coroutine that runs
	sends   []func(context.Context) error // one for each kind of statement
}

// A waitFor is what a coroutine waits for.
type waitFor int

const (
	itsStatement   waitFor = iota
	otherFunctions         // until they have ended
)

// A coroutine is a function that can wait.
type coroutine struct {
	i      int // the index of the function
	resume func() (_ waitFor, waits bool)
	stop   func() // lets the statement that it waits for return errStopped
}

// run runs the functions 0 to n-1 and calls ended after each. It returns the first error of
// ended, or errManyRows; then all statements that functions wait for return errStopped.
func (c *coalescer) run(n int, function func(i int), ended func(i int) error) error {
	all := make([]coroutine, n)
	for i := range all {
		all[i] = c.newCoroutine(i, function)
	}
	defer stopAll(all)
	c.enabled = true
	var last []coroutine
	for running := all; len(running) > 0; {
		var waiting []coroutine
		for _, f := range running {
			event, waits := f.resume()
			switch {
			case !waits:
				if err := ended(f.i); err != nil {
					return err
				}
			case event == itsStatement:
				waiting = append(waiting, f)
			case event == otherFunctions:
				last = append(last, f)
			}
		}
		if err := c.send(); err != nil {
			return err
		}
		running = waiting
	}
	c.enabled = false
	for _, f := range last {
		f.resume()
		if err := ended(f.i); err != nil {
			return err
		}
	}
	return nil
}

func (c *coalescer) newCoroutine(i int, function func(i int)) coroutine {
	resume, stop := iter.Pull(func(yield func(waitFor) bool) {
		c.yield, c.changes.dirty = yield, false
		function(i)
	})
	return coroutine{i, resume, stop}
}

// stopAll stops the coroutines that have not ended, also if one calls runtime.Goexit.
func stopAll(all []coroutine) {
	if len(all) > 0 {
		defer stopAll(all[1:])
		all[0].stop()
	}
}

// wait returns when the function that calls it is resumed.
func (c *coalescer) wait(event waitFor) error {
	yield, dirty := c.yield, c.changes.dirty
	resumed := yield(event)
	c.yield, c.changes.dirty = yield, dirty
	if !resumed {
		return errStopped
	}
	return nil
}

// send sends the statements that functions wait for.
func (c *coalescer) send() error {
	for _, send := range c.sends {
		if err := send(context.Background()); err != nil {
			return fmt.Errorf("%w: %w", errManyRows, err)
		}
	}
	return nil
}

// A coalesced is a kind of statement, for a row A with the result R.
type coalesced[A, R any] struct {
	*coalescer
	one  func(context.Context, A) (R, error)
	many func(context.Context, []A) ([]R, error) // returns the results in the order of the rows

	rows    []A // of the functions that wait
	results []R // of the rows that were sent last
}

func newCoalesced[A, R any](
	c *coalescer, one func(context.Context, A) (R, error), many func(context.Context, []A) ([]R, error),
) *coalesced[A, R] {
	s := &coalesced[A, R]{coalescer: c, one: one, many: many}
	c.sends = append(c.sends, s.sendRows)
	return s
}

// do runs the statement for a row and returns the result of this row.
func (s *coalesced[A, R]) do(ctx context.Context, row A) (result R, err error) {
	if !s.enabled {
		return s.one(ctx, row)
	}
	i := len(s.rows)
	s.rows = append(s.rows, row)
	if err := s.wait(itsStatement); err != nil {
		return result, err
	}
	return s.results[i], nil
}

func (s *coalesced[A, R]) sendRows(ctx context.Context) (err error) {
	if len(s.rows) > 0 {
		s.results, err = s.many(ctx, s.rows)
		s.rows = s.rows[:0]
	}
	return err
}
