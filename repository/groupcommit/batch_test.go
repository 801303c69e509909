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
				storetest.Equal(t, "the runs of the function before it", c.wantRuns, runs.Load())
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

// The batch does not run again, although one function after the other would tell which row has failed.
func TestRowsThatFailAfterARollbackFailTheBatch(t *testing.T) {
	t.Parallel()
	q := openQueue(t, engines["coalesced"])
	release, rolledBack := q.block(t), false
	first := q.enqueue(t.Context(), func(ctx context.Context, n names) (err error) {
		if !rolledBack {
			rolledBack, err = true, n.exec(ctx, "ROLLBACK")
		}
		return errors.Join(err, n.Add(ctx, "Rex"))
	})
	same := q.enqueue(t.Context(), adding("Rex"))
	release()
	wantQueueError(t, <-first, groupcommit.ErrRolledBack)
	wantQueueError(t, <-same, groupcommit.ErrRolledBack)
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
		storetest.Equal(t, fmt.Sprintf("the runs with %d conflicts", conflicts), wantRuns, runs)
		if conflicts < wantRuns {
			check(t, err)
			q.wantNames(t, "Rex")
			continue
		}
		wantQueueError(t, err, errConflict)
		q.wantNames(t)
	}
}
