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

// ErrRolledBack is wrapped by the error of all callers of a batch that the database rolled back
// by itself.
var ErrRolledBack = errors.New("the database rolled back the transaction")

var (
	errNeedSavepoints = errors.New("a transaction function failed after it changed something")
	errIgnoredError   = errors.New("a transaction function ignored the error of a statement")
	errConflict       = errors.New("the transaction conflicted with another one")
)

// maxConflicts is how often a batch runs again after a conflict with another transaction.
const maxConflicts = 3

// commit runs a batch as one transaction and commits it, see "Savepoints" in the documentation
// of the package.
func (q *Queue[R, C]) commit(batch []*pendingTx[R, C]) error {
	withSavepoints := false
	for conflicts := 0; ; {
		err := q.tryCommit(batch, withSavepoints)
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

func (q *Queue[R, C]) tryCommit(batch []*pendingTx[R, C], withSavepoints bool) error {
	start := time.Now() //nolint:forbidigo // a duration, only for Observe
	tx, err := q.database.Begin(context.Background())
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	b := batchTx[R, C]{Tx: &Tx{Tx: tx}, queue: q, withSavepoints: withSavepoints}
	b.repositories = q.repositories(b.Tx)
	ran, err := b.run(batch)
	if err != nil {
		return err
	}
	err = q.options.Commit(b.changes, func() error { return tx.Commit(b.changes) })
	if q.options.Observe != nil && ran > 0 {
		q.options.Observe(ran, time.Since(start))
	}
	return err
}

// A batchTx is the transaction of a batch.
type batchTx[R, C any] struct {
	*Tx
	queue          *Queue[R, C]
	repositories   R
	withSavepoints bool
}

// run runs what was not withdrawn, and returns its number: all creations together, then one function
// after the other. With savepoints it runs one creation after the other, too. It returns errNeedSavepoints
// when something failed after a change, and errConflict when the batch may succeed if it runs again.
func (b *batchTx[R, C]) run(batch []*pendingTx[R, C]) (ran int, err error) {
	var creations, functions []*pendingTx[R, C]
	for _, p := range batch {
		switch {
		case !p.start():
		case p.fn == nil:
			creations = append(creations, p)
		default:
			functions = append(functions, p)
		}
	}
	steps := slices.Chunk(append(creations, functions...), 1)
	if len(creations) > 1 && !b.withSavepoints {
		if err := b.runStep(creations); err != nil {
			return 0, err
		}
		steps = slices.Chunk(functions, 1)
	}
	for step := range steps {
		if err := b.runStep(step); err != nil {
			return 0, err
		}
	}
	return len(creations) + len(functions), nil
}

// runStep runs one function, or creations.
func (b *batchTx[R, C]) runStep(step []*pendingTx[R, C]) error {
	if b.withSavepoints {
		if err := b.exec("SAVEPOINT tx_func"); err != nil {
			return err
		}
	}
	b.dirty = false
	b.call(step)
	p := step[0] // the creations of a step fail together
	if err := b.check(p); err != nil || !b.withSavepoints {
		return err
	}
	if p.failed() {
		if err := b.exec("ROLLBACK TO tx_func"); err != nil {
			return err
		}
	}
	return b.exec("RELEASE tx_func")
}

// call calls the function of a step, or create for its creations.
func (b *batchTx[R, C]) call(step []*pendingTx[R, C]) {
	ctx, fn := step[0].context(), step[0].fn
	if fn == nil {
		if len(step) > 1 {
			ctx = context.Background() // the statements belong to no caller
		}
		creations := make([]C, len(step))
		for i, p := range step {
			creations[i] = p.creation
		}
		fn = func(ctx context.Context, r R) error { return b.queue.create(r, ctx, creations) }
	}
	err, panicked := recovered(func() error { return fn(ctx, b.repositories) })
	for _, p := range step {
		p.err, p.panicked = err, panicked
	}
}

func recovered(fn func() error) (err error, panicked any) { //nolint:revive,staticcheck // a panic is no error
	defer func() { panicked = recover() }()
	return fn(), nil
}

// check returns the error for the batch after the function of p has ended, see run.
func (b *batchTx[R, C]) check(p *pendingTx[R, C]) error {
	if b.queue.database.Failure(p.err) == engine.FailureConflict {
		return fmt.Errorf("%w: %w", errConflict, p.err)
	}
	if err := b.Active(); err != nil {
		return b.rolledBack(err, p)
	}
	if b.Failed() && !p.failed() {
		p.err = errIgnoredError
	}
	if !b.withSavepoints && p.failed() && (b.dirty || b.Failed()) {
		return errNeedSavepoints
	}
	return nil
}

// rolledBack returns the error for all callers when the database has rolled back the
// transaction. It wraps the error of p only if that is one of the database: any other
// does not concern the other callers.
func (b *batchTx[R, C]) rolledBack(err error, p *pendingTx[R, C]) error {
	if b.queue.database.Failure(p.err) != "" {
		return fmt.Errorf("%w: %w: %w", ErrRolledBack, err, p.err)
	}
	return fmt.Errorf("%w: %w: after %s", ErrRolledBack, err, fmt.Sprint(cmp.Or[any](p.panicked, p.err)))
}

func (b *batchTx[R, C]) exec(statement string) error {
	_, err := b.ExecContext(context.Background(), statement)
	return err
}
