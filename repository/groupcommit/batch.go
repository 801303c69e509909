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
func (q *Queue[R]) commit(batch []*pendingTx[R]) error {
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

func (q *Queue[R]) tryCommit(batch []*pendingTx[R], withSavepoints bool) error {
	start := time.Now() //nolint:forbidigo // a duration, only for Observe
	tx, err := q.database.Begin(context.Background())
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := q.options.Poll(); err != nil {
		return err
	}
	b := batchTx[R]{Tx: &Tx{Tx: tx}, database: q.database, withSavepoints: withSavepoints}
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
type batchTx[R any] struct {
	*Tx
	database       engine.Database
	repositories   R
	withSavepoints bool
}

// run runs the functions that were not withdrawn, and returns their number. It returns
// errNeedSavepoints when one of them failed after it changed something, and errConflict when the
// batch may succeed if it runs again.
func (b *batchTx[R]) run(batch []*pendingTx[R]) (ran int, err error) {
	started := slices.DeleteFunc(slices.Clone(batch), func(p *pendingTx[R]) bool { return !p.start() })
	if len(started) > 1 && !b.withSavepoints && b.database.BatchesStatements() {
		return len(started), b.runCoalesced(started)
	}
	for _, p := range started {
		if err := b.runOne(p); err != nil {
			return 0, err
		}
	}
	return len(started), nil
}

// runCoalesced runs functions, and their statements together.
func (b *batchTx[R]) runCoalesced(batch []*pendingTx[R]) error {
	err := b.runCoroutines(
		len(batch),
		func(i int) { batch[i].run(b.repositories) },
		func(i int) error { return b.check(batch[i]) },
	)
	if errors.Is(err, errManyRows) {
		if ended := b.Active(); ended != nil {
			return fmt.Errorf("%w: %w: %w", ErrRolledBack, ended, err)
		}
		return errNeedSavepoints
	}
	return err
}

func (b *batchTx[R]) runOne(p *pendingTx[R]) error {
	if b.withSavepoints {
		if err := b.exec("SAVEPOINT tx_func"); err != nil {
			return err
		}
	}
	b.dirty = false
	p.run(b.repositories)
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

// check returns the error for the batch after the function of p has ended, see run.
func (b *batchTx[R]) check(p *pendingTx[R]) error {
	if b.database.Failure(p.err) == engine.FailureConflict {
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
func (b *batchTx[R]) rolledBack(err error, p *pendingTx[R]) error {
	if b.database.Failure(p.err) != "" {
		return fmt.Errorf("%w: %w: %w", ErrRolledBack, err, p.err)
	}
	return fmt.Errorf("%w: %w: after %s", ErrRolledBack, err, fmt.Sprint(cmp.Or[any](p.panicked, p.err)))
}

func (b *batchTx[R]) exec(statement string) error {
	_, err := b.ExecContext(context.Background(), statement)
	return err
}
