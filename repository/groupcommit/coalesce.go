package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

var (
	errManyRows = errors.New("a statement with many rows failed")
	// errStopped is the error of a statement that is not sent. No caller of Do gets it,
	// because the batch runs again or fails.
	errStopped = errors.New("the batch is rolled back")
)

// A wait is what a coroutine waits for.
type wait int

const (
	waitForStatement wait = iota
	waitForOthers         // until they have ended
)

// A coroutine is a function that can wait.
type coroutine struct {
	i      int // the index of the function
	resume func() (_ wait, waits bool)
	stop   func() // lets the statement that it waits for return errStopped
}

// runCoroutines runs the functions 0 to n-1 as coroutines: one of them runs at a time, until it ends
// or waits. It calls ended after each, and returns the first error of ended, or errManyRows; then
// all statements that functions wait for return errStopped.
func (t *Tx) runCoroutines(n int, function func(i int), ended func(i int) error) error {
	all := make([]coroutine, n)
	for i := range all {
		all[i] = t.newCoroutine(i, function)
	}
	defer stopAll(all)
	t.coalescing = true
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
			case event == waitForStatement:
				waiting = append(waiting, f)
			case event == waitForOthers:
				last = append(last, f)
			}
		}
		if err := t.send(); err != nil {
			return err
		}
		running = waiting
	}
	t.coalescing = false
	for _, f := range last {
		f.resume()
		if err := ended(f.i); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) newCoroutine(i int, function func(i int)) coroutine {
	resume, stop := iter.Pull(func(yield func(wait) bool) {
		t.yield, t.dirty = yield, false
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
func (t *Tx) wait(event wait) error {
	yield, dirty := t.yield, t.dirty
	resumed := yield(event)
	t.yield, t.dirty = yield, dirty
	if !resumed {
		return errStopped
	}
	return nil
}

// WaitForOthers returns when the functions that run at the same time have ended, immediately if
// none does. After an error the function must end.
func (t *Tx) WaitForOthers() error {
	if !t.coalescing {
		return nil
	}
	return t.wait(waitForOthers)
}

// send sends the statements that functions wait for.
func (t *Tx) send() error {
	for _, send := range t.statements {
		if err := send(context.Background()); err != nil {
			return fmt.Errorf("%w: %w", errManyRows, err)
		}
	}
	return nil
}

// A Statement is a statement with the result R for a row A, which is sent once for the rows of
// all functions that wait for it.
type Statement[A, R any] struct {
	tx      *Tx
	run     func(context.Context, []A) ([]R, error)
	rows    []A // of the functions that wait
	results []R // of the rows that were sent last
}

// NewStatement returns a Statement of a transaction. run sends it for one row or more, and returns
// the results in their order.
func NewStatement[A, R any](t *Tx, run func(context.Context, []A) ([]R, error)) *Statement[A, R] {
	s := &Statement[A, R]{tx: t, run: run}
	t.statements = append(t.statements, s.send)
	return s
}

// Do runs the statement for a row and returns the result of this row.
func (s *Statement[A, R]) Do(ctx context.Context, row A) (result R, err error) {
	if !s.tx.coalescing {
		results, err := s.run(ctx, []A{row})
		if err != nil {
			return result, err
		}
		return results[0], nil
	}
	i := len(s.rows)
	s.rows = append(s.rows, row)
	if err := s.tx.wait(waitForStatement); err != nil {
		return result, err
	}
	return s.results[i], nil
}

func (s *Statement[A, R]) send(ctx context.Context) (err error) {
	if len(s.rows) > 0 {
		s.results, err = s.run(ctx, s.rows)
		s.rows = s.rows[:0]
	}
	return err
}
