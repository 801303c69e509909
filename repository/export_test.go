package repository

import (
	"context"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
)

// These are for the tests of package repository_test, which import an engine.

func (s *Store) slots() *semaphore.Weighted { return s.readers.slots }

// AcquireReadSlots acquires n of the connections that read.
func (s *Store) AcquireReadSlots(ctx context.Context, n int64) error {
	return s.slots().Acquire(ctx, n)
}

// TryAcquireReadSlots acquires n of the connections that read if they are free.
func (s *Store) TryAcquireReadSlots(n int64) bool { return s.slots().TryAcquire(n) }

// ReleaseReadSlots releases n of the connections that read.
func (s *Store) ReleaseReadSlots(n int64) { s.slots().Release(n) }

// AcquireSearch makes searches wait until release is called.
func (s *Store) AcquireSearch() (release func()) {
	_ = s.readers.search.Acquire(context.Background(), 1) // cannot fail
	return func() { s.readers.search.Release(1) }
}

// ReadWaits returns how many reads have waited.
func (s *Store) ReadWaits() int64 { return s.readers.waits.Load() }

// ExecIn runs a statement in the transaction of r, which does not know that it has written something.
func ExecIn(ctx context.Context, r port.Repositories, statement string) error {
	_, err := r.Pets.(pets).begun.ExecContext(ctx, statement)
	return err
}

// FailureOf returns what failed in the store.
func (s *Store) FailureOf(err error) engine.Failure { return failureOf(s.database, err) }

// Explain returns the plan of SQLite for a statement.
func (s *Store) Explain(ctx context.Context, statement string) (plan string, err error) {
	var steps []struct{ Detail string }
	err = s.readers.db.WithContext(ctx).Raw("EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?"))...).Find(&steps).Error
	for _, step := range steps {
		plan += step.Detail + "\n"
	}
	return plan, err
}

// KeyAge returns how long ago a key in memory was read.
func (s *Store) KeyAge(hash apikey.Hash) time.Duration {
	known, _ := s.keys.entries.GetIfPresent(hash)
	return time.Since(known.at)
}

// WaitingLookups returns the number of look-ups of keys that have not ended.
func (s *Store) WaitingLookups() int { return s.keys.lookups.Waiting() }
