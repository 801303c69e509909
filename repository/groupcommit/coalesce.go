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

// A coroutine is a function that can wait, for its statement or until the others have ended.
type coroutine struct {
	i      int // the index of the function
	resume func() (forOthers, waits bool)
}

// runCoroutines runs the functions 0 to n-1 as coroutines: one of them runs at a time, until it ends
// or waits. It calls ended after each, and returns the first error of ended, or errManyRows; then
// all statements that functions wait for return errStopped.
func (t *Tx) runCoroutines(n int, function func(i int), ended func(i int) error) error {
	all := make([]coroutine, n)
	for i := range all {
		resume, stop := iter.Pull(func(yield func(bool) bool) {
			t.yield, t.dirty = yield, false
			function(i)
		})
		defer stop() // lets the statement that it waits for return errStopped
		all[i] = coroutine{i, resume}
	}
	t.coalescing = true
	var last []coroutine
	for running := all; len(running) > 0; {
		var waiting []coroutine
		for _, f := range running {
			forOthers, waits := f.resume()
			switch {
			case !waits:
				if err := ended(f.i); err != nil {
					return err
				}
			case forOthers:
				last = append(last, f)
			default:
				waiting = append(waiting, f)
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

// wait returns when the function that calls it is resumed.
func (t *Tx) wait(forOthers bool) error {
	yield, dirty := t.yield, t.dirty
	resumed := yield(forOthers)
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
	return t.wait(true)
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
	if err := s.tx.wait(false); err != nil {
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
