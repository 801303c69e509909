//go:build cgo

package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
	"example.com/petstore/repository/storetest"
)

// The batch runs again only for a function that failed after it changed something.
func TestFailedFunctionIsRolledBackAlone(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		failing  txFunc
		wantRuns int32 // of the function before it
	}{
		"fails immediately":    {func(context.Context, names) error { return failure }, 1},
		"changes no row":       {func(ctx context.Context, n names) error { return errors.Join(n.Remove(ctx, "Tom"), failure) }, 1},
		"fails after a change": {failing("rolled back", failure), 2},
		"panics after a change": {func(ctx context.Context, n names) error {
			_ = n.Add(ctx, "rolled back")
			panic(failure)
		}, 2},
	} {
		for engineName, wrap := range engines {
			t.Run(name+" "+engineName, func(t *testing.T) {
				t.Parallel()
				q := openQueue(t, wrap)
				var runs atomic.Int32
				release := q.block(t)
				first := q.enqueue(t.Context(), func(ctx context.Context, n names) error {
					runs.Add(1)
					return n.Add(ctx, "first")
				})
				failed := q.enqueue(t.Context(), c.failing)
				last := q.enqueue(t.Context(), adding("last"))
				release()
				check(t, errors.Join(<-first, <-last))
				err := <-failed
				if !errors.Is(err, failure) || isQueueError(err) || errors.Is(err, errPanic) != strings.HasPrefix(name, "panics") {
					t.Errorf("the failed function: got %v, want %v itself, or its panic", err, failure)
				}
				if got := runs.Load(); got != c.wantRuns {
					t.Errorf("the function before it: got %d runs, want %d", got, c.wantRuns)
				}
				q.wantNames(t, "first", "last")
			})
		}
	}
}

// engines are SQLite as it is, and as a database to which each statement takes a round trip.
var engines = map[string]func(engine.Database) engine.Database{
	"alone":     nil,
	"coalesced": func(d engine.Database) engine.Database { return batching{d} },
}

// A batching database batches statements.
type batching struct{ engine.Database }

func (batching) BatchesStatements() bool { return true }

// failingFrom returns a function that fails from its nth run, after a change.
func failingFrom(n int, err error) txFunc {
	runs := 0
	return func(ctx context.Context, r names) error {
		if runs++; runs < n {
			return r.Add(ctx, fmt.Sprint("from run ", n))
		}
		return errors.Join(r.Add(ctx, fmt.Sprint("rolled back ", n)), err)
	}
}

// In the second run each function has a savepoint, also those that have not failed yet.
func TestBatchRunsAgainOnce(t *testing.T) {
	t.Parallel()
	q := openQueue(t, nil)
	runs := 0
	failure := map[int]error{1: errors.New("failure 1"), 2: errors.New("failure 2")}
	release := q.block(t)
	other := q.enqueue(t.Context(), func(ctx context.Context, n names) error {
		runs++
		return n.Add(ctx, "other")
	})
	second := q.enqueue(t.Context(), failingFrom(2, failure[2]))
	first := q.enqueue(t.Context(), failingFrom(1, failure[1]))
	last := q.enqueue(t.Context(), adding("last"))
	release()
	if err := errors.Join(<-other, <-last); err != nil || runs != 2 {
		t.Errorf("the other functions: got %v after %d runs, want no error after 2", err, runs)
	}
	storetest.WantError(t, "the function that fails in both runs", <-first, failure[1])
	storetest.WantError(t, "the function that fails in the second run", <-second, failure[2])
	q.wantNames(t, "other", "last")
}

// SQLite rolls back by itself, such as when the disk is full. Only an error of the database concerns
// the other callers.
func TestTransactionRolledBackBySQLiteFailsTheBatch(t *testing.T) {
	t.Parallel()
	for name, wrap := range engines {
		for cause, wrapped := range map[error]bool{errors.New("not found"): false, sqlite3.Error{Code: sqlite3.ErrFull}: true} {
			t.Run(fmt.Sprint(name, ", ", cause), func(t *testing.T) {
				t.Parallel()
				q := openQueue(t, wrap)
				release := q.block(t)
				lost := q.enqueue(t.Context(), adding("lost"))
				failed := q.enqueue(t.Context(), func(ctx context.Context, n names) error {
					return errors.Join(cause, n.exec(ctx, "ROLLBACK"))
				})
				next := q.enqueue(t.Context(), adding("not started"))
				release()
				for _, result := range []<-chan error{lost, failed, next} {
					err := <-result
					if !isQueueError(err) || !errors.Is(err, groupcommit.ErrRolledBack) || !strings.Contains(err.Error(), cause.Error()) || errors.Is(err, cause) != wrapped {
						t.Errorf("got %v, want %v that names %v, and wraps it: %t", err, groupcommit.ErrRolledBack, cause, wrapped)
					}
				}
				q.wantNames(t)
				check(t, q.Do(t.Context(), adding("next")))
			})
		}
	}
}

// A conflicting database takes errConflict for a deadlock with another process.
type conflicting struct{ engine.Database }

var errConflict = errors.New("deadlock")

func (c conflicting) Failure(err error) engine.Failure {
	if errors.Is(err, errConflict) {
		return engine.FailureConflict
	}
	return c.Database.Failure(err)
}

func TestConflictRepeatsTheBatchALimitedNumberOfTimes(t *testing.T) {
	t.Parallel()
	for conflicts, wantRuns := range map[int]int{1: 2, 3: 4, 4: 4} {
		q := openQueue(t, func(d engine.Database) engine.Database { return conflicting{d} })
		runs := 0
		err := q.Do(t.Context(), func(ctx context.Context, n names) error {
			err := n.Add(ctx, "Rex")
			if runs++; runs <= conflicts {
				err = errors.Join(err, errConflict)
			}
			return err
		})
		if runs != wantRuns {
			t.Errorf("%d conflicts: got %d runs, want %d", conflicts, runs, wantRuns)
		}
		if conflicts < wantRuns {
			if err != nil {
				t.Errorf("%d conflicts: got %v, want no error", conflicts, err)
			}
			q.wantNames(t, "Rex")
			continue
		}
		if !isQueueError(err) || !errors.Is(err, errConflict) {
			t.Errorf("%d conflicts: got %v, want an Error that wraps %v", conflicts, err, errConflict)
		}
		q.wantNames(t)
	}
}
