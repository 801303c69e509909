package repository

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

var (
	errRolledBack     = errors.New("the database rolled back the transaction")
	errNeedSavepoints = errors.New("a transaction function failed after it changed something")
	errFailed         = errors.New("a statement made the transaction fail")
	errIgnoredError   = errors.New("a transaction function ignored the error of a statement")
	errConflict       = errors.New("the transaction conflicted with another one")
)

const (
	// maxConflicts is how often a batch runs again after a conflict with another transaction.
	maxConflicts = 3
	// maxFailures is how often a batch runs again because further functions need savepoints,
	// until all have one.
	maxFailures = 3
)

// commit runs a batch as one transaction and commits it. The batch runs without
// savepoints, after which SQLite copies every page that changes. Only when functions
// fail after they changed something, the batch is rolled back and runs again, with a
// savepoint before each of them, or before all functions if the culprit is unknown.
func (w *writer) commit(batch []*pendingTx) error {
	for conflicts, failures := 0, 0; ; {
		err := w.tryCommit(batch)
		switch {
		case errors.Is(err, errNeedSavepoints) && failures < maxFailures:
			failures++
		case errors.Is(err, errNeedSavepoints), errors.Is(err, errFailed):
			for _, p := range batch {
				p.needsSavepoint = true
			}
		case errors.Is(err, errConflict) && conflicts < maxConflicts:
			conflicts++
		default:
			return err
		}
	}
}

func (w *writer) tryCommit(batch []*pendingTx) error {
	start := time.Now() //nolint:forbidigo // a duration, only for observe
	tx, err := w.database.Begin(context.Background())
	if err != nil {
		return domain.Unavailable(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := w.poll(); err != nil {
		return domain.Unavailable(err)
	}
	b := newBatchTx(w, tx)
	if err := b.run(batch); err != nil {
		return domain.Unavailable(err)
	}
	if err = tx.Commit(b.changes.Changes); err != nil {
		err = domain.Unavailable(err)
	}
	w.versions.committed(b.changes.Changes) // also after an error: the commit may be durable
	if w.observe != nil && b.ran > 0 {
		w.observe(b.ran, time.Since(start))
	}
	return err
}

// A batchTx is the transaction of a batch.
type batchTx struct {
	Tx
	database     Database
	repositories domain.Repositories
	changes      changes
	coalescer    coalescer
	ran          int  // number of functions
	needsRerun   bool // with more savepoints
}

func newBatchTx(w *writer, tx Tx) *batchTx {
	b := &batchTx{Tx: tx, database: w.database}
	db := w.db.Session(&gorm.Session{NewDB: true, Context: context.Background()})
	db.Statement.ConnPool = tx
	s := session{db: db, pool: tx, tx: tx, database: w.database, report: unreported}
	b.coalescer.changes = &b.changes
	b.repositories = domain.Repositories{
		Pets: newPets(s, &b.changes, &b.coalescer), Orders: orders{s, &b.changes}, Keys: keys{s, &b.changes},
		Idempotency: newIdempotency(s, &b.changes, &b.coalescer), Imports: imports{s, &b.changes},
	}
	return b
}

// unreported is the report of a session in a transaction: InTx reports the error of the
// whole transaction.
func unreported(err error) error { return err }

// run runs the functions, those that need a savepoint last. It returns errNeedSavepoints
// when it has found more that need one: they failed after they changed something. One that
// failed before, as most that fail, needs none. It returns errFailed when any function may
// have made the transaction fail, and errConflict when the batch may succeed if it runs
// again.
func (b *batchTx) run(batch []*pendingTx) error {
	if err := b.runWithoutSavepoints(batch); err != nil {
		return err
	}
	if b.needsRerun {
		return errNeedSavepoints
	}
	return b.runSerially(batch, true)
}

func (b *batchTx) runWithoutSavepoints(batch []*pendingTx) error {
	if len(batch) > 1 && b.database.Coalesces() {
		return b.runCoalesced(batch)
	}
	return b.runSerially(batch, false)
}

// runCoalesced runs the functions that need no savepoint, and their statements together.
func (b *batchTx) runCoalesced(batch []*pendingTx) error {
	var started []*pendingTx
	for _, p := range batch {
		if !p.needsSavepoint && p.start() {
			started = append(started, p)
		}
	}
	b.ran = len(started)
	err := b.coalescer.run(
		len(started),
		func(i int) { started[i].run(b.repositories) },
		func(i int) error { return b.check(started[i]) },
	)
	if errors.Is(err, errManyRows) {
		if ended := b.Active(); ended != nil {
			return fmt.Errorf("%w: %w: %w", errRolledBack, ended, err)
		}
		return errFailed
	}
	return err
}

// runSerially runs the functions that need savepoints, or those that need none, one after
// the other.
func (b *batchTx) runSerially(batch []*pendingTx, withSavepoints bool) error {
	for _, p := range batch {
		if p.needsSavepoint != withSavepoints || !p.start() {
			continue
		}
		b.ran++
		if withSavepoints {
			if err := b.exec("SAVEPOINT tx_func"); err != nil {
				return err
			}
		}
		b.changes.dirty = false
		p.run(b.repositories)
		if err := b.check(p); err != nil {
			return err
		}
		if withSavepoints {
			if err := b.endSavepoint(p.failed()); err != nil {
				return err
			}
		}
	}
	return nil
}

// check returns the error for the batch after the function of p has ended, see run. The
// batch continues after a function that needs a savepoint, to find the others that do.
func (b *batchTx) check(p *pendingTx) error {
	if b.database.ErrorKind(p.err) == KindConflict {
		return fmt.Errorf("%w: %w", errConflict, p.err)
	}
	if err := b.Active(); err != nil {
		return b.rolledBack(err, p)
	}
	if b.Failed() && !p.failed() {
		p.err = errIgnoredError
	}
	switch {
	case p.needsSavepoint: // and has one
	case b.Failed():
		return errFailed
	case p.failed() && (b.changes.dirty || b.mayDependOnOthers()):
		p.needsSavepoint, b.needsRerun = true, true
	}
	return nil
}

// mayDependOnOthers reports whether the current function may have failed because of an
// earlier one that failed, such as one that claimed the same key: without it, the function
// may change something before it fails. One that is coalesced has not waited for others.
func (b *batchTx) mayDependOnOthers() bool { return b.needsRerun && !b.coalescer.enabled }

// rolledBack returns the error for all callers when the database has rolled back the
// transaction. It wraps the error of p only if that is one of the database: any other
// Kind does not concern the other callers.
func (b *batchTx) rolledBack(err error, p *pendingTx) error {
	if b.database.ErrorKind(p.err) != "" {
		return fmt.Errorf("%w: %w: %w", errRolledBack, err, p.err)
	}
	return fmt.Errorf("%w: %w: after %s", errRolledBack, err, p.failure())
}

func (b *batchTx) endSavepoint(rollback bool) error {
	if rollback {
		if err := b.exec("ROLLBACK TO tx_func"); err != nil {
			return err
		}
	}
	return b.exec("RELEASE tx_func")
}

func (b *batchTx) exec(statement string) error {
	_, err := b.ExecContext(context.Background(), statement)
	return err
}
