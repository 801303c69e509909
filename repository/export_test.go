package repository

import (
	"context"
	"strings"
	"sync/atomic"

	"example.com/petstore/domain"
)

// For the tests of package repository_test, which import an engine.
var (
	ErrQueueFull  = errQueueFull
	ErrNested     = errNested
	ErrGoexit     = errGoexit
	ErrRolledBack = errRolledBack
	ErrClosed     = errClosed
)

const QueueSize = queueSize

// Queued returns the number of queued transactions.
func (s *Store) Queued() int { return len(s.writer.queue) }

// Closing returns a channel that is closed when Close is called.
func (s *Store) Closing() <-chan struct{} { return s.writer.quit }

// KeyVersion returns the number that increases when API keys change.
func (s *Store) KeyVersion() uint64 { return s.versions.keys.Load() }

// AcquireReadSlots acquires n of the connections that read.
func (s *Store) AcquireReadSlots(ctx context.Context, n int64) error {
	return s.readers.readSlots.Acquire(ctx, n)
}

// ReleaseReadSlots releases n of the connections that read.
func (s *Store) ReleaseReadSlots(n int64) { s.readers.readSlots.Release(n) }

// QueryIDs runs a query that selects ids, and calls onRow for each row.
func (s *Store) QueryIDs(ctx context.Context, onRow func(), statement string) ([]int64, error) {
	return query(ctx, s.readers, func(r *row) (int64, error) {
		onRow()
		return scanID(r)
	}, 0, statement)
}

// ExecIn runs a statement within the transaction of r.
func ExecIn(ctx context.Context, r domain.Repositories, statement string) error {
	_, err := r.Pets.(pets).exec(ctx, statement)
	return err
}

// A PollCheck is a pollCheck with a counter of polls.
type PollCheck struct {
	check pollCheck
	polls atomic.Uint64
}

// Tick adds polls and reports whether none has happened for two ticks.
func (c *PollCheck) Tick(polls uint64) bool { return c.check.overdue(c.polls.Add(polls)) }

// ScanRow scans values as those of a row.
func ScanRow(values []any, dest ...any) error { return (&row{values: values}).scan(dest...) }

// ErrorKind returns the kind of an error of the store.
func (s *Store) ErrorKind(err error) string { return errorKind(s.database, err) }

// CopiedColumns returns the columns that Copy copies, by table.
func CopiedColumns() map[string]string {
	columns := map[string]string{}
	for _, table := range copiedTables {
		columns[table.name] = strings.Join(table.columns, ", ")
	}
	return columns
}
