package groupcommit_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/testkit"
)

var errOwn = errors.New("the function failed")

// counting returns fn, and counts its runs.
func counting(runs *int, fn txFunc) txFunc {
	return func(ctx context.Context, n *names) error { *runs++; return fn(ctx, n) }
}

// addTwice adds a name twice, so that its second statement fails.
func addTwice(ctx context.Context, n *names) error {
	return cmp.Or(n.add(ctx, "rolled back"), n.add(ctx, "rolled back"))
}

// ofFunction returns a condition for the result of a function that returned want, or any error if want is nil.
func ofFunction(want error) func(result) bool {
	return func(r result) bool {
		_, ofQueue := errors.AsType[*groupcommit.Error](r.err)
		return r.err != nil && !ofQueue && (want == nil || errors.Is(r.err, want))
	}
}

// After a write the function runs again alone, and the others run again without it.
func TestFailedFunctionIsRolledBackAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failing txFunc
		want    func(result) bool
		runs    []int // of the first function, of the failing one, and of the last one
		batches []int
	}{
		"fails immediately": {
			func(context.Context, *names) error { return errOwn },
			ofFunction(errOwn),
			[]int{1, 1, 1},
			[]int{3},
		},
		"panics immediately": {
			func(context.Context, *names) error { panic("failure") },
			func(r result) bool { return r.panicked.(*groupcommit.Panic).Value == "failure" },
			[]int{1, 1, 1},
			[]int{3},
		},
		"fails after a write": {
			func(ctx context.Context, n *names) error { return cmp.Or(n.add(ctx, "rolled back"), errOwn) },
			ofFunction(errOwn),
			[]int{2, 2, 1},
			[]int{2},
		},
		"fails on a failed statement": {
			addTwice,
			ofFunction(nil),
			[]int{2, 2, 1},
			[]int{2},
		},
		"panics after a write": {
			func(ctx context.Context, n *names) error { _ = n.add(ctx, "rolled back"); panic(errOwn) },
			func(r result) bool { return errors.Is(r.panicked.(error), errOwn) },
			[]int{2, 2, 1},
			[]int{2},
		},
		"exits": {
			func(ctx context.Context, n *names) error {
				check(t, n.add(ctx, "rolled back"))
				runtime.Goexit()
				return nil
			},
			func(r result) bool { return strings.Contains(fmt.Sprint(r.panicked), "runtime.Goexit") },
			[]int{2, 2, 1},
			[]int{2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, runs := openQueue(t), make([]int, 3)
			results := q.doTogether(t, counting(&runs[0], adding("first")), counting(&runs[1], test.failing), counting(&runs[2], adding("last")))
			if results[0].err != nil || results[0].panicked != nil || !test.want(results[1]) || results[2] != (result{}) {
				t.Errorf("got the results %v", results)
			}
			testkit.Equal(t, "the runs", test.runs, runs)
			testkit.Equal(t, "the sizes of the batches", test.batches, q.batches)
			q.wantNames(t, "first", "last")
			check(t, q.Do(t.Context(), adding("next")))
		})
	}
}

// A function that exits also ends the goroutine of the leader, whose function is the first one here. All other
// callers get their results.
func TestLeaderExitsWithAFunctionThatExits(t *testing.T) {
	t.Parallel()
	exiting := func(ctx context.Context, n *names) error {
		check(t, n.add(ctx, "rolled back"))
		runtime.Goexit()
		return nil
	}
	for _, test := range []struct {
		functions []txFunc
		want      string
	}{
		{[]txFunc{exiting, adding("a"), exiting, adding("b")}, "[exited <nil> panicked <nil>]"},
		{[]txFunc{adding("a"), exiting, adding("b"), exiting}, "[exited panicked <nil> panicked]"},
	} {
		q := openQueue(t)
		testkit.Equal(t, "the results", test.want, fmt.Sprint(q.doTogether(t, test.functions...)))
		q.wantNames(t, "a", "b")
		check(t, q.Do(t.Context(), adding("next")))
	}
}

func TestPanicHasTheStackOfTheFunction(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	for _, r := range q.doTogether(t, doNothing, addPanicking)[1:] {
		testkit.Equal(t, "whether the stack has the function", true, strings.Contains(fmt.Sprint(r.panicked), "addPanicking"))
		testkit.WantError(t, "the panic", r.panicked.(error), errOwn)
	}
}

func addPanicking(context.Context, *names) error { panic(fmt.Errorf("wrapped: %w", errOwn)) }

// SQLite undoes only a statement that fails. On PostgreSQL it aborts the transaction: the function runs alone, also if it
// ignores the error.
func TestFailedStatementOfPostgreSQLIsAFailureAfterAWrite(t *testing.T) {
	t.Parallel()
	for _, ignores := range []bool{false, true} {
		q, runs := openQueue(t), 0
		results := q.doTogether(t, counting(&runs, adding("first")), func(ctx context.Context, n *names) error {
			_, err := n.ExecContext(ctx, "INSERT INTO missing VALUES (1)")
			if ignores {
				return nil
			}
			return err
		}, adding("last"))
		check(t, errors.Join(results[0].err, results[2].err))
		aborts := q.driver == enginetest.Postgres
		testkit.Equal(t, "whether the function failed", aborts || !ignores, ofFunction(nil)(results[1]))
		testkit.Equal(t, "the runs of another function", map[bool]int{false: 1, true: 2}[aborts], runs)
		q.wantNames(t, "first", "last")
	}
}

func TestFailedFunctionSeesTheOthersWhenItRunsAgain(t *testing.T) {
	t.Parallel()
	q, runs := openQueue(t), 0
	results := q.doTogether(t, adding("first"), func(ctx context.Context, n *names) error {
		if runs++; runs == 1 {
			return cmp.Or(n.add(ctx, "rolled back"), errOwn)
		}
		return n.add(ctx, "again")
	}, adding("last"))
	check(t, errors.Join(results[0].err, results[1].err, results[2].err))
	q.wantNames(t, "first", "last", "again")
	testkit.Equal(t, "the sizes of the batches", []int{2, 1}, q.batches)
}

// From the second failure after a write on, each function runs alone.
func TestManyFailingFunctionsRunAFewTimes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		writes bool
		runs   []int // how many functions ran once, twice, and three times
		want   []int // the sizes of the batches
	}{
		"without a write": {false, []int{64, 0, 0}, []int{64}},
		"after a write":   {true, []int{60, 3, 1}, slices.Repeat([]int{1}, 32)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, runs := openQueue(t), make([]int, 64)
			var functions []txFunc
			var want []string
			for i := range runs {
				fn := adding(strconv.Itoa(i))
				if i%2 == 1 {
					fn = func(ctx context.Context, n *names) error {
						if !test.writes {
							return errOwn
						}
						return cmp.Or(n.add(ctx, strconv.Itoa(i)), errOwn)
					}
				} else {
					want = append(want, strconv.Itoa(i))
				}
				functions = append(functions, counting(&runs[i], fn))
			}
			for i, r := range q.doTogether(t, functions...) {
				if wantFailed := i%2 == 1; wantFailed != errors.Is(r.err, errOwn) {
					t.Errorf("function %d: got %v", i, r.err)
				}
			}
			counts := make([]int, 3)
			for _, n := range runs {
				counts[n-1]++
			}
			testkit.Equal(t, "how many functions ran once, twice, and three times", test.runs, counts)
			testkit.Equal(t, "the sizes of the batches", test.want, q.batches)
			q.wantNames(t, want...)
		})
	}
}

// What the functions have collected is written with the commit. If that fails, each function runs alone.
func TestCallWhoseCollectedWriteFailsFailsAlone(t *testing.T) {
	t.Parallel()
	q, runs := openQueue(t), 0
	results := q.doTogether(t, counting(&runs, collecting("a")), collecting("b"), collecting("a"), adding("c"))
	check(t, errors.Join(results[0].err, results[1].err, results[3].err))
	if !ofFunction(nil)(results[2]) {
		t.Errorf("got %v, want the error of the statement", results[2].err)
	}
	testkit.Equal(t, "the runs of a function", 2, runs)
	q.wantNames(t, "a", "b", "c")
}

// A function that runs again, in another transaction, has the same data.
func TestTransactionReadsAheadForAllItsCalls(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	release := q.block(t)
	failing := func(ctx context.Context, n *names) error { return cmp.Or(n.add(ctx, "rolled back"), errOwn) }
	failed := q.enqueue(t.Context(), t, failing, "first", "second")
	added := q.enqueue(t.Context(), t, adding("a"), "third")
	release()
	testkit.WantError(t, "the call that fails", (<-failed).err, errOwn)
	check(t, (<-added).err)
	want := [][]string{{"first", "second", "third"}, {"third"}, {"first", "second"}}
	testkit.Equal(t, "the data for which transactions read ahead", want, q.ahead)
	q.wantNames(t, "a")
}

// SQLite rolls back by itself, for example when the disk is full. The errors of all callers name the cause.
// They wrap the cause only if it is an error of the database.
func TestTransactionRolledBackByTheDatabaseFailsTheBatch(t *testing.T) {
	t.Parallel()
	for cause, wrapped := range map[error]bool{errOwn: false, errFull: true} {
		q := openQueue(t)
		for _, r := range q.doTogether(t, adding("lost"), func(ctx context.Context, n *names) error {
			_, err := n.ExecContext(ctx, "ROLLBACK")
			return errors.Join(cause, err)
		}, adding("not started")) {
			wantQueueError(t, r.err, groupcommit.ErrRolledBack)
			if !strings.Contains(r.err.Error(), cause.Error()) || errors.Is(r.err, cause) != wrapped {
				t.Errorf("got %v, want that it names %v, and wraps it: %t", r.err, cause, wrapped)
			}
		}
		q.wantNames(t)
		check(t, q.Do(t.Context(), adding("next")))
	}
}

func TestConflictRepeatsTheBatchALimitedNumberOfTimes(t *testing.T) {
	t.Parallel()
	for conflicts, wantRuns := range map[int]int{1: 2, 3: 4, 4: 4} {
		q, runs := openQueue(t), 0
		results := q.doTogether(t, adding("Tom"), func(ctx context.Context, n *names) error {
			err := n.add(ctx, "Rex")
			if runs++; runs <= conflicts {
				err = errors.Join(err, errConflict)
			}
			return err
		})
		testkit.Equal(t, fmt.Sprintf("the runs with %d conflicts", conflicts), wantRuns, runs)
		if conflicts < wantRuns {
			check(t, errors.Join(results[0].err, results[1].err))
			q.wantNames(t, "Tom", "Rex")
			continue
		}
		wantQueueError(t, results[0].err, errConflict)
		wantQueueError(t, results[1].err, errConflict)
		q.wantNames(t)
	}
}

// A function may have failed because of a change that is not committed. A panic stays one.
func TestErrorOfTheCommitIsTheErrorOfAllCallers(t *testing.T) {
	t.Parallel()
	q, runs := openQueue(t), 0
	results := q.doTogether(t, counting(&runs, func(ctx context.Context, n *names) error {
		q.commit = errConflict
		return n.add(ctx, "a")
	}), func(context.Context, *names) error { return errOwn }, addPanicking)
	wantQueueError(t, results[0].err, errConflict)
	wantQueueError(t, results[1].err, errConflict)
	testkit.WantError(t, "the panic", results[2].panicked.(error), errOwn)
	testkit.Equal(t, "the runs", 1, runs)
}
