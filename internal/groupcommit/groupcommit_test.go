package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(enginetest.WithDatabases(m)) }

var check = testkit.Check

// names is the repository of the tests. It has a table of its own.
type names struct {
	*groupcommit.Tx
	queue     *testQueue
	collected []string // the names that are added with the commit
}

// Ahead implements groupcommit.Repositories.
func (n *names) Ahead(data []string) ([]engine.Query, func()) {
	if len(data) > 0 {
		n.queue.ahead = append(n.queue.ahead, data)
	}
	return nil, func() {}
}

// Begun implements groupcommit.Repositories.
func (n *names) Begun(tx *groupcommit.Tx) { n.Tx = tx }

// Commit implements groupcommit.Repositories.
func (n *names) Commit(commit func() error) error {
	if n.queue.commit != nil {
		return n.queue.commit
	}
	for _, name := range n.collected {
		if err := n.add(context.Background(), name); err != nil {
			return engine.NotCommittedError{Err: err}
		}
	}
	return commit()
}

func (n *names) add(ctx context.Context, name string) error {
	n.Wrote()
	_, err := n.ExecContext(ctx, "INSERT INTO names (id, name) SELECT coalesce(max(id), 0) + 1, $1 FROM names", name)
	return err
}

// A txFunc is the argument of Do.
type txFunc = func(context.Context, *names) error

// adding returns a function that adds a name.
func adding(name string) txFunc {
	return func(ctx context.Context, n *names) error { return n.add(ctx, name) }
}

// collecting returns a function that adds a name with the commit.
func collecting(name string) txFunc {
	return func(_ context.Context, n *names) error {
		n.Wrote()
		n.collected = append(n.collected, name)
		return nil
	}
}

func doNothing(context.Context, *names) error { return nil }

// A database is a database whose Begin can fail, and which takes errConflict and errFull for its own errors.
type database struct {
	engine.Database
	begin func(context.Context) error // if not nil, called before Begin
}

func (d *database) Begin(ctx context.Context, ahead func() ([]engine.Query, func())) (engine.Tx, error) {
	if d.begin != nil {
		if err := d.begin(ctx); err != nil {
			return nil, err
		}
	}
	return d.Database.Begin(ctx, ahead)
}

var errConflict, errFull = errors.New("deadlock"), errors.New("the disk is full")

func (d *database) Failure(err error) engine.Failure {
	switch {
	case errors.Is(err, errConflict):
		return engine.FailureConflict
	case errors.Is(err, errFull):
		return engine.FailureFull
	}
	return d.Database.Failure(err)
}

// A testQueue is a Queue on a new database. It records what it has done.
type testQueue struct {
	*groupcommit.Queue[*names, string]
	driver   string // of enginetest
	database *database
	commit   error // if not nil, the error of all commits

	batches []int      // the number of calls of each commit, recorded before their callers return
	ahead   [][]string // the data in each call of Ahead that had any
}

func openQueue(t *testing.T) *testQueue {
	t.Helper()
	created := enginetest.New(t)
	opened, err := created.Engine().Open(t.Context(), engine.Options{MaxOpenConns: 1})
	check(t, err)
	tx, err := opened.Begin(t.Context(), nil)
	check(t, err)
	_, err = tx.ExecContext(t.Context(), "CREATE TABLE names (id INTEGER NOT NULL, name TEXT NOT NULL UNIQUE)")
	check(t, errors.Join(err, tx.Commit()))
	q := &testQueue{driver: created.Driver, database: &database{Database: opened}}
	q.Queue = groupcommit.NewQueue(q.database, groupcommit.Options[*names, string]{
		New:     func() *names { return &names{queue: q} },
		Observe: func(calls int, _ time.Duration) { q.batches = append(q.batches, calls) },
	})
	t.Cleanup(func() {
		q.Close()
		check(t, opened.Close())
	})
	return q
}

// wantNames compares all names, in the order in which they were added, with want.
func (q *testQueue) wantNames(t *testing.T, want ...string) {
	t.Helper()
	rows, err := q.database.Pools()["readers"].QueryContext(t.Context(), "SELECT name FROM names ORDER BY id")
	check(t, err)
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name string
		check(t, rows.Scan(&name))
		got = append(got, name)
	}
	testkit.Equal(t, "the names", want, got, rows.Err())
}

// block keeps the queue busy until release is called. Calls that are queued meanwhile share the next
// transaction.
func (q *testQueue) block(t *testing.T) (release func()) {
	t.Helper()
	return testkit.Block(t, func(wait func()) error {
		return q.Do(context.WithoutCancel(t.Context()), func(context.Context, *names) error { wait(); return nil })
	})
}

// A result is how a call of Do has ended: it has returned err, or panicked, or its goroutine has
// ended.
type result struct {
	err      error
	panicked any
	exited   bool
}

func (r result) String() string {
	switch {
	case r.exited:
		return "exited"
	case r.panicked != nil:
		return "panicked"
	}
	return fmt.Sprint(r.err)
}

// enqueue calls Do in a goroutine. It waits until the call is queued.
func (q *testQueue) enqueue(ctx context.Context, t *testing.T, fn txFunc, data ...string) <-chan result {
	t.Helper()
	before, done := q.Waiting(), make(chan result, 1)
	go func() {
		r := result{exited: true}
		defer func() {
			if r.panicked = recover(); r.panicked != nil {
				r.exited = false
			}
			done <- r
		}()
		r.err = q.Do(ctx, fn, data...)
		r.exited = false
	}()
	testkit.WaitUntil(t, "the call is queued", func() bool { return q.Waiting() > before })
	return done
}

// doTogether runs functions as one batch and returns their results.
func (q *testQueue) doTogether(t *testing.T, functions ...txFunc) (results []result) {
	t.Helper()
	release := q.block(t)
	var queued []<-chan result
	for _, fn := range functions {
		queued = append(queued, q.enqueue(t.Context(), t, fn))
	}
	release()
	for _, done := range queued {
		results = append(results, <-done)
	}
	q.batches = q.batches[1:] // without the commit of block
	return results
}

// wantQueueError expects an error of the queue, not of a function. It must wrap want.
func wantQueueError(t *testing.T, err, want error) {
	t.Helper()
	if _, ofQueue := errors.AsType[*groupcommit.Error](err); !ofQueue || !errors.Is(err, want) {
		t.Errorf("got %v, want an Error that wraps %v", err, want)
	}
}

func TestQueuedFunctionsShareACommit(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	release := q.block(t)
	ctx, cancel := context.WithCancel(t.Context())
	canceled := q.enqueue(ctx, t, adding("canceled"))
	cancel()
	wantQueueError(t, (<-canceled).err, context.Canceled)
	a, b := q.enqueue(t.Context(), t, adding("a")), q.enqueue(t.Context(), t, adding("b"))
	testkit.Equal(t, "the waiting callers", 3, q.Waiting())
	release()
	check(t, errors.Join((<-a).err, (<-b).err))
	testkit.Equal(t, "the waiting callers after the commit", 0, q.Waiting())
	testkit.Equal(t, "the sizes of the batches, without the canceled function", []int{1, 2}, q.batches)
	check(t, q.Do(t.Context(), adding("c")))
	q.wantNames(t, "a", "b", "c")
}

// This test is not parallel: it runs with one processor. If the leader did not yield, each goroutine that is
// ready to run would commit alone, one after the other.
func TestGoroutinesThatAreReadyToRunShareACommit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	q := openQueue(t)
	var callers sync.WaitGroup
	start := make(chan struct{})
	for i := range 64 {
		callers.Go(func() {
			<-start
			for n := range 4 {
				if err := q.Do(t.Context(), adding(strconv.Itoa(64*n+i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	time.Sleep(10 * time.Millisecond) // until all goroutines wait
	close(start)
	callers.Wait()
	if len(q.batches) > 32 {
		t.Errorf("got the batches %d, want few", q.batches)
	}
}

func TestNestedDoIsRejected(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	err := q.Do(t.Context(), func(ctx context.Context, n *names) error {
		return errors.Join(n.add(ctx, "rolled back"), q.Do(ctx, adding("nested")))
	})
	testkit.WantError(t, "the error", err, groupcommit.ErrNested)
	q.wantNames(t)
}

// A host may have two stores.
func TestDoWithinATransactionOfAnotherQueueRuns(t *testing.T) {
	t.Parallel()
	q, other := openQueue(t), openQueue(t)
	check(t, q.Do(t.Context(), func(ctx context.Context, n *names) error {
		return errors.Join(n.add(ctx, "outer"), other.Do(ctx, func(ctx context.Context, n *names) error {
			testkit.WantError(t, "the error", q.Do(ctx, doNothing), groupcommit.ErrNested)
			return n.add(ctx, "inner")
		}))
	}))
	q.wantNames(t, "outer")
	other.wantNames(t, "inner")
}

func TestFullQueueRejectsFunction(t *testing.T) {
	t.Parallel()
	const queueSize = 1024
	q := openQueue(t)
	release := q.block(t)
	ran := atomic.Int32{}
	count := func(context.Context, *names) error { ran.Add(1); return nil }
	results := make(chan error)
	for range queueSize {
		go func() { results <- q.Do(t.Context(), count) }()
	}
	testkit.WaitUntil(t, "the queue is full", func() bool { return q.Waiting() == 1+queueSize })
	wantQueueError(t, q.Do(t.Context(), count), batch.ErrQueueFull)
	release()
	for range queueSize {
		check(t, <-results)
	}
	testkit.Equal(t, "the runs", int32(queueSize), ran.Load())
	testkit.Equal(t, "the size of the largest batch", 256, slices.Max(q.batches))
}

// If the context of a leader ends while it waits for the lock of another process, it returns, and another
// caller leads.
func TestLeaderWhoseContextEndsHandsOver(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	soon, end := context.WithCancel(t.Context())
	began, begin := make(chan struct{}), make(chan struct{})
	begins := 0
	q.database.begin = func(ctx context.Context) error {
		if begins++; begins == 1 {
			close(began)
			<-begin
			end()
		}
		return ctx.Err()
	}
	late := q.enqueue(soon, t, adding("late"))
	<-began
	older := q.enqueue(t.Context(), t, adding("older"))
	newest := q.enqueue(t.Context(), t, adding("newest")) // the newest call has the most time
	close(begin)
	wantQueueError(t, (<-late).err, context.Canceled)
	check(t, errors.Join((<-older).err, (<-newest).err))
	q.wantNames(t, "newest", "older")
	testkit.Equal(t, "the calls of Begin", 2, begins)
}

func TestCallWhoseContextEndsBeforeTheTransactionBeginsDoesNotRun(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	ctx, cancel := context.WithCancel(t.Context())
	q.database.begin = func(context.Context) error { cancel(); return nil }
	wantQueueError(t, q.Do(ctx, adding("late")), context.Canceled)
	q.wantNames(t)
}

func TestCallWhoseTimeoutIsOverBeforeTheTransactionBeginsDoesNotRun(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	late := groupcommit.NewQueue(&database{Database: q.database.Database, begin: func(context.Context) error {
		time.Sleep(testkit.Scaled(20 * time.Millisecond))
		return nil
	}}, groupcommit.Options[*names, string]{
		Timeout: testkit.Scaled(10 * time.Millisecond),
		New:     func() *names { return &names{queue: q} },
	})
	defer late.Close()
	wantQueueError(t, late.Do(context.WithoutCancel(t.Context()), adding("late")), context.DeadlineExceeded)
	q.wantNames(t)
}

func TestAllCallersGetTheErrorOfBegin(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	release := q.block(t)
	a, b := q.enqueue(t.Context(), t, adding("a")), q.enqueue(t.Context(), t, adding("b"))
	q.database.begin = func(context.Context) error { return errFull }
	release()
	wantQueueError(t, (<-a).err, errFull)
	wantQueueError(t, (<-b).err, errFull)
}

func TestStartedFunctionIsNotCanceled(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	type key struct{}
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Hour)
	check(t, q.Do(ctx, func(ctx context.Context, n *names) error {
		cancel()
		if _, limited := ctx.Deadline(); limited || ctx.Done() != nil || ctx.Err() != nil || ctx.Value(key{}) != "value" {
			t.Errorf("got a context with the deadline %t, %v and the value %v, want one that does not end", limited, ctx.Err(), ctx.Value(key{}))
		}
		return n.add(ctx, "Rex")
	}))
	q.wantNames(t, "Rex")
}

func TestClosedQueueRejectsFunction(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	q.Close()
	wantQueueError(t, q.Do(t.Context(), doNothing), batch.ErrClosed)
}
