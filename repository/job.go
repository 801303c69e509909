package repository

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/petstore/domain"
)

// An act is what a caller of InTx wants done.
type act = func(context.Context, domain.Repositories) error

// An actContext is the context of an act: the caller's, whose end does not reach it,
// because SQLite would answer an interrupted statement by undoing the whole batch.
type actContext struct{ caller context.Context }

// inAct is found in the contexts of acts alone.
type inAct struct{}

func (actContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (actContext) Done() <-chan struct{}       { return nil }
func (actContext) Err() error                  { return nil }

func (c actContext) Value(key any) any {
	if key == (inAct{}) {
		return c
	}
	return c.caller.Value(key)
}

// A job is an act on its way through the writer. Its caller may abandon it until
// the writer starts it; from then on the writer alone touches it until done.
type job struct {
	ctx   context.Context
	act   act
	taken atomic.Bool // started, or abandoned
	begun bool        // started
	done  chan struct{}

	err      error
	panicked any
}

// start reports whether the job is to run, also once more.
func (j *job) start() bool {
	j.begun = j.begun || j.taken.CompareAndSwap(false, true)
	return j.begun
}

func (j *job) abandon() bool { return j.taken.CompareAndSwap(false, true) }

// run runs the act within a transaction.
func (j *job) run(within domain.Repositories) {
	defer func() { j.panicked = recover() }()
	j.err = j.act(actContext{j.ctx}, within)
}

func (j *job) failed() bool { return j.err != nil || j.panicked != nil }

// reason tells why the job failed.
func (j *job) reason() string { return fmt.Sprint(cmp.Or[any](j.panicked, j.err)) }

// outcome is what the caller gets: the act's own error or panic comes first, then
// that of the commit.
func (j *job) outcome() error {
	if j.panicked != nil {
		panic(j.panicked) //nolint:forbidigo // the act's own, back where it belongs
	}
	return translate(j.err)
}

// finish answers the callers of a batch. Where the commit failed, all get its error,
// also those whose act was refused: what refused it may have been undone with the
// rest. Abandoned ones have no caller.
func finish(batch []*job, err error) {
	for i, j := range batch {
		if err != nil && j.panicked == nil {
			j.err = err
		}
		close(j.done)
		batch[i] = nil
	}
}
