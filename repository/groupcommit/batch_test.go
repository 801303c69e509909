//go:build cgo

package groupcommit_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/groupcommit"
)

// The batch runs again only if a function fails after a change.
func TestFailedFunctionIsRolledBackAlone(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		failing  txFunc
		want     error
		wantRuns int // the number of runs of the function before it
	}{
		"fails immediately": {func(context.Context, names) error { return failure }, failure, 1},
		"changes no row":    {func(_ context.Context, n names) error { n.MarkChanged(0); return failure }, failure, 1},
		"fails after a change": {func(ctx context.Context, n names) error {
			return cmp.Or(n.add(ctx, "rolled back"), failure)
		}, failure, 2},
		"panics after a change": {func(ctx context.Context, n names) error {
			_ = n.add(ctx, "rolled back")
			panic(failure)
		}, panicError{failure}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := openQueue(t)
			runs := 0
			results := q.doTogether(t, func(ctx context.Context, n names) error {
				runs++
				return n.add(ctx, "first")
			}, c.failing, adding("last"))
			// An error of the queue could wrap the error of the function, and errors.Is would accept it.
			if results[0] != nil || results[1] != c.want || results[2] != nil { //nolint:errorlint // see above
				t.Errorf("got %v, want %v of the second function", results, c.want)
			}
			testkit.Equal(t, "the runs of the function before it", c.wantRuns, runs)
			q.wantNames(t, "first", "last")
		})
	}
}

// Creations run together, before the functions. If that fails, one creation runs after the other.
func TestCreationsRunTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		creations []string
		want      [][]string // the creations that ran together
		wantNames []string
	}{
		{[]string{"a", "b", "c"}, [][]string{{"a", "b", "c"}}, []string{"a", "b", "c", "function"}},
		{[]string{"a", "b", "a", "c"}, [][]string{{"a", "b", "a", "c"}, {"a"}, {"b"}, {"a"}, {"c"}}, []string{"a", "b", "c", "function"}},
	} {
		q := openQueue(t)
		release := q.block(t)
		results := []<-chan error{q.enqueue(t.Context(), adding("function"))}
		for _, name := range c.creations {
			results = append(results, q.call(func() error { return q.Create(t.Context(), name) }))
		}
		release()
		failed := 0
		for _, result := range results {
			if <-result != nil {
				failed++
			}
		}
		testkit.Equal(t, "the creations that ran together", c.want, q.created)
		testkit.Equal(t, "the errors", len(c.creations)-len(c.wantNames)+1, failed)
		q.wantNames(t, c.wantNames...)
	}
}

// SQLite rolls back by itself, for example when the disk is full. The errors of all callers name the cause.
// They wrap the cause only if it is an error of the database.
func TestTransactionRolledBackBySQLiteFailsTheBatch(t *testing.T) {
	t.Parallel()
	for cause, wrapped := range map[error]bool{errors.New("not found"): false, sqlite3.Error{Code: sqlite3.ErrFull}: true} {
		q := openQueue(t)
		for _, err := range q.doTogether(t, adding("lost"), func(ctx context.Context, n names) error {
			_, err := n.ExecContext(ctx, "ROLLBACK")
			return errors.Join(cause, err)
		}, adding("not started")) {
			wantQueueError(t, err, groupcommit.ErrRolledBack)
			if !strings.Contains(err.Error(), cause.Error()) || errors.Is(err, cause) != wrapped {
				t.Errorf("got %v, want that it names %v, and wraps it: %t", err, cause, wrapped)
			}
		}
		q.wantNames(t)
		check(t, q.Do(t.Context(), adding("next")))
	}
}

func TestConflictRepeatsTheBatchALimitedNumberOfTimes(t *testing.T) {
	t.Parallel()
	for conflicts, wantRuns := range map[int]int{1: 2, 3: 4, 4: 4} {
		q := openQueue(t)
		runs := 0
		err := q.Do(t.Context(), func(ctx context.Context, n names) error {
			err := n.add(ctx, "Rex")
			if runs++; runs <= conflicts {
				err = errors.Join(err, errConflict)
			}
			return err
		})
		testkit.Equal(t, fmt.Sprintf("the runs with %d conflicts", conflicts), wantRuns, runs)
		if conflicts < wantRuns {
			check(t, err)
			q.wantNames(t, "Rex")
			continue
		}
		wantQueueError(t, err, errConflict)
		q.wantNames(t)
	}
}
