package repository

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// An act is what a caller of InTx wants done.
type act = func(context.Context, domain.Repositories) error

// inAct marks the contexts of acts.
type inAct struct{}

// A job is an act on its way through the writer. Its caller may abandon it until
// the writer starts it; from then on the writer alone touches it until done.
type job struct {
	ctx   context.Context
	act   act
	taken atomic.Bool // started, or abandoned
	done  chan struct{}

	err      error
	panicked any
}

func (j *job) start() bool { return j.taken.CompareAndSwap(false, true) }

func (j *job) abandon() bool { return j.taken.CompareAndSwap(false, true) }

// run runs the act on a transaction. The caller's cancellation does not reach it:
// SQLite would answer an interrupted statement by undoing the whole batch.
func (j *job) run(tx *gorm.DB, e *effects) {
	defer func() { j.panicked = recover() }()
	ctx := context.WithValue(context.WithoutCancel(j.ctx), inAct{}, true)
	within := session{db: tx}
	j.err = j.act(ctx, domain.Repositories{
		Pets:        pets{within, e},
		Orders:      orders{within, e},
		Keys:        keys{within, e},
		Idempotency: idempotency{tx},
	})
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
