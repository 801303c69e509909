package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/petstore/repository/engine"
)

// ErrRolledBack is wrapped by the error of all callers of a batch whose transaction the database has rolled
// back by itself.
var ErrRolledBack = errors.New("the database rolled back the transaction")

var (
	errNeedSavepoints = errors.New("a call failed after it changed something")
	errIgnoredError   = errors.New("a transaction function ignored the error of a statement")
	errConflict       = errors.New("the transaction conflicted with another one")
	errPanicked       = errors.New("the transaction panicked")
)

// maxConflicts is how often a batch runs again after a conflict with another transaction.
const maxConflicts = 3

// A batch is the calls that share a transaction.
type batch[R, C any] struct {
	queue  *Queue[R, C]
	leader *call[R, C] // the caller that runs the batch
	calls  []*call[R, C]
	start  time.Time
}

// run runs the batch in a transaction that has begun, commits it, and replies to the callers.
func (b *batch[R, C]) run(tx engine.Tx) {
	err := errPanicked
	defer func() {
		if b.leader.exited { // its function called runtime.Goexit: before this goroutine ends, the other calls run again
			err = b.commit(nil)
		}
		b.reply(err)
	}()
	b.calls = slices.DeleteFunc(b.calls, func(c *call[R, C]) bool {
		ended := c.ctx.Err()
		if ended != nil {
			b.replyTo(c, ended)
		}
		return ended != nil
	})
	err = b.commit(tx)
}

// reply lets all callers of the batch return. If the commit failed, all callers get its error, even a caller
// whose function failed: the function may have failed because of a change of another function, which is
// rolled back now.
func (b *batch[R, C]) reply(err error) {
	for _, c := range b.calls {
		b.replyTo(c, err)
	}
}

func (b *batch[R, C]) replyTo(c *call[R, C], err error) {
	if err != nil && c.panicked == nil {
		c.err = &Error{err}
	}
	if c != b.leader {
		c.orders <- toReturn
	}
}

// commit runs the calls as one transaction and commits it. It runs them again as "Calls that fail" in the
// documentation of the package says. If tx is nil, commit begins a transaction.
func (b *batch[R, C]) commit(tx engine.Tx) (err error) {
	withSavepoints := false
	for conflicts := 0; ; tx = nil {
		if tx == nil {
			if tx, err = b.queue.database.Begin(context.Background()); err != nil {
				return err
			}
		}
		err = b.tryCommit(tx, withSavepoints)
		switch {
		case errors.Is(err, errNeedSavepoints) && !withSavepoints:
			withSavepoints = true
		case errors.Is(err, errConflict) && conflicts < maxConflicts:
			conflicts++
		default:
			return err
		}
	}
}

func (b *batch[R, C]) tryCommit(begun engine.Tx, withSavepoints bool) error {
	defer func() { _ = begun.Rollback() }()
	t := transaction[R, C]{batch: b, Tx: &Tx{Tx: begun}, withSavepoints: withSavepoints}
	t.repositories = b.queue.repositories(t.Tx)
	if err := t.run(); err != nil {
		return err
	}
	err := b.queue.options.Commit(t.changes, func() error { return begun.Commit(t.changes) })
	if observe := b.queue.options.Observe; observe != nil && len(b.calls) > 0 {
		observe(len(b.calls), time.Since(b.start))
	}
	return err
}

// A transaction is one run of a batch.
type transaction[R, C any] struct {
	*Tx
	batch          *batch[R, C]
	repositories   R
	withSavepoints bool
}

// run runs all creations together, and then one function after the other. With savepoints it also runs one
// creation after the other. It returns errNeedSavepoints if a call failed after a change, and errConflict
// if the batch may succeed when it runs again.
func (t *transaction[R, C]) run() error {
	var creations, functions []*call[R, C]
	for _, c := range t.batch.calls {
		switch {
		case c.exited: // by runtime.Goexit in an earlier run
		case c.fn == nil:
			creations = append(creations, c)
		default:
			functions = append(functions, c)
		}
	}
	together := max(len(creations), 1)
	if t.withSavepoints {
		together = 1
	}
	for step := range slices.Chunk(creations, together) {
		if err := t.runStep(step); err != nil {
			return err
		}
	}
	for step := range slices.Chunk(functions, 1) {
		if err := t.runStep(step); err != nil {
			return err
		}
	}
	return nil
}

// runStep runs one function, or some creations. The creations succeed or fail together.
func (t *transaction[R, C]) runStep(step []*call[R, C]) error {
	if t.withSavepoints {
		if err := t.exec("SAVEPOINT tx_func"); err != nil {
			return err
		}
	}
	t.dirty = false
	first := step[0]
	if first.fn == nil {
		t.runCreations(step)
	} else {
		t.runFunction(first)
	}
	if err := t.check(first); err != nil || !t.withSavepoints {
		return err
	}
	if first.failed() {
		if err := t.exec("ROLLBACK TO tx_func"); err != nil {
			return err
		}
	}
	return t.exec("RELEASE tx_func")
}

// runFunction runs a function on the goroutine of its caller.
func (t *transaction[R, C]) runFunction(c *call[R, C]) {
	c.repositories = t.repositories
	if c == t.batch.leader {
		c.run(t.batch.queue)
		return
	}
	c.orders <- toRun
	<-t.batch.queue.ran
}

func (t *transaction[R, C]) runCreations(step []*call[R, C]) {
	creations := make([]C, len(step))
	for i, c := range step {
		creations[i] = c.creation
	}
	all := call[R, C]{ctx: step[0].ctx, repositories: t.repositories, fn: func(ctx context.Context, r R) error {
		return t.batch.queue.create(r, ctx, creations)
	}}
	all.run(t.batch.queue)
	for _, c := range step {
		c.err, c.panicked = all.err, all.panicked
	}
}

// check returns an error if the batch must end after a step, see run. c is the first call of the step.
func (t *transaction[R, C]) check(c *call[R, C]) error {
	if t.failureOf(c.err) == engine.FailureConflict {
		return fmt.Errorf("%w: %w", errConflict, c.err)
	}
	if err := t.Active(); err != nil {
		return t.rolledBack(err, c)
	}
	if t.Failed() && !c.failed() {
		c.err = errIgnoredError
	}
	if !t.withSavepoints && c.failed() && (t.dirty || t.Failed()) {
		return errNeedSavepoints
	}
	return nil
}

// rolledBack returns the error for all callers when the database has rolled back the transaction. It wraps
// the error of c only if the database caused it, because any other error does not concern the other
// callers.
func (t *transaction[R, C]) rolledBack(err error, c *call[R, C]) error {
	if t.failureOf(c.err) != "" {
		return fmt.Errorf("%w: %w: %w", ErrRolledBack, err, c.err)
	}
	return fmt.Errorf("%w: %w: after %s", ErrRolledBack, err, fmt.Sprint(cmp.Or[any](c.panicked, c.err)))
}

func (t *transaction[R, C]) failureOf(err error) engine.Failure {
	return t.batch.queue.database.Failure(err)
}

func (t *transaction[R, C]) exec(statement string) error {
	_, err := t.ExecContext(context.Background(), statement)
	return err
}
