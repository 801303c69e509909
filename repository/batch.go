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
	errIgnoredError   = errors.New("a transaction function ignored the error of a statement")
	errConflict       = errors.New("the transaction conflicted with another one")
)

// maxConflicts is how often a batch runs again after a conflict with another transaction.
const maxConflicts = 3

// commit runs a batch as one transaction and commits it. The batch runs without
// savepoints, after which SQLite copies every page that changes. Only when a function
// fails after it changed something, the batch is rolled back and runs again, with a
// savepoint before each function.
func (w *writer) commit(batch []*pendingTx) error {
	withSavepoints := false
	for conflicts := 0; ; {
		err := w.tryCommit(batch, withSavepoints)
		switch {
		case errors.Is(err, errNeedSavepoints):
			withSavepoints = true
		case errors.Is(err, errConflict) && conflicts < maxConflicts:
			conflicts++
		default:
			return err
		}
	}
}

func (w *writer) tryCommit(batch []*pendingTx, withSavepoints bool) error {
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
	if err := b.run(batch, withSavepoints); err != nil {
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
	ran          int // number of functions
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

// run runs the functions. Without savepoints it returns errNeedSavepoints when a function
// fails after it changed something or made the transaction fail; one that did neither, as
// most that fail, needs none. It returns errConflict when the batch may succeed if it runs
// again.
func (b *batchTx) run(batch []*pendingTx, withSavepoints bool) error {
	if len(batch) > 1 && !withSavepoints && b.database.Coalesces() {
		return b.runCoalesced(batch)
	}
	return b.runSerially(batch, withSavepoints)
}

// runCoalesced runs the functions without savepoints, and their statements together.
func (b *batchTx) runCoalesced(batch []*pendingTx) error {
	var started []*pendingTx
	for _, p := range batch {
		if p.start() {
			started = append(started, p)
		}
	}
	b.ran = len(started)
	err := b.coalescer.run(
		len(started),
		func(i int) { started[i].run(b.repositories) },
		func(i int) error { return b.check(started[i], false) },
	)
	if errors.Is(err, errManyRows) {
		if ended := b.Active(); ended != nil {
			return fmt.Errorf("%w: %w: %w", errRolledBack, ended, err)
		}
		return errNeedSavepoints
	}
	return err
}

// runSerially runs the functions one after the other.
func (b *batchTx) runSerially(batch []*pendingTx, withSavepoints bool) error {
	for _, p := range batch {
		if !p.start() {
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
		if err := b.check(p, withSavepoints); err != nil {
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

// check returns the error for the batch after the function of p has ended, see run.
func (b *batchTx) check(p *pendingTx, withSavepoints bool) error {
	if b.database.ErrorKind(p.err) == KindConflict {
		return fmt.Errorf("%w: %w", errConflict, p.err)
	}
	if err := b.Active(); err != nil {
		return b.rolledBack(err, p)
	}
	if b.Failed() && !p.failed() {
		p.err = errIgnoredError
	}
	if !withSavepoints && p.failed() && (b.changes.dirty || b.Failed()) {
		return errNeedSavepoints
	}
	return nil
}

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
