package groupcommit_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
	"example.com/petstore/repository/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names is the repository of the tests. It has a table of its own.
type names struct {
	*groupcommit.Tx
	created *[][]string // the names in each call of create
}

func (n names) add(ctx context.Context, name string) error {
	n.MarkAdded(1)
	_, err := n.ExecContext(ctx, "INSERT INTO names (name) VALUES (?)", name)
	return err
}

func (n names) create(ctx context.Context, all []string) error {
	*n.created = append(*n.created, all)
	for _, name := range all {
		if err := n.add(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// A txFunc is the argument of Do.
type txFunc = func(context.Context, names) error

// adding returns a function that adds a name.
func adding(name string) txFunc {
	return func(ctx context.Context, n names) error { return n.add(ctx, name) }
}

func doNothing(context.Context, names) error { return nil }

// A database is SQLite whose Begin can fail, and whose conflicts are errConflict.
type database struct {
	engine.Database
	begin func(context.Context) error // if not nil, called before Begin
}

func (d *database) Begin(ctx context.Context) (engine.Tx, error) {
	if d.begin != nil {
		if err := d.begin(ctx); err != nil {
			return nil, err
		}
	}
	return d.Database.Begin(ctx)
}

// errConflict is a deadlock with another process.
var errConflict = errors.New("deadlock")

func (d *database) Failure(err error) engine.Failure {
	if errors.Is(err, errConflict) {
		return engine.FailureConflict
	}
	return d.Database.Failure(err)
}

// A testQueue is a Queue on a new SQLite file. It records what it has done.
type testQueue struct {
	*groupcommit.Queue[names, string]
	database *database

	batches   []int            // the number of calls of each commit, recorded before their callers return
	committed []engine.Changes // the changes of each commit
	created   [][]string       // the names of the creations that ran together
}

func openQueue(t *testing.T) *testQueue {
	t.Helper()
	sqlite, err := sqlite.New(filepath.Join(t.TempDir(), "pets.db")).Open(t.Context(), engine.Options{MaxOpenConns: 1})
	check(t, err)
	tx, err := sqlite.Begin(t.Context())
	check(t, err)
	_, err = tx.ExecContext(t.Context(), "CREATE TABLE names (name TEXT NOT NULL UNIQUE)")
	check(t, errors.Join(err, tx.Commit(engine.Changes{})))
	q := &testQueue{database: &database{Database: sqlite}}
	q.Queue = groupcommit.NewQueue(q.database, groupcommit.Options{
		Commit: func(c engine.Changes, commit func() error) error {
			q.committed = append(q.committed, c)
			return commit()
		},
		Observe: func(batch int, _ time.Duration) { q.batches = append(q.batches, batch) },
	}, func(tx *groupcommit.Tx) names { return names{tx, &q.created} }, names.create)
	t.Cleanup(func() {
		q.Close()
		check(t, sqlite.Close())
	})
	return q
}

// wantNames compares all names, in the order in which they were added, with want.
func (q *testQueue) wantNames(t *testing.T, want ...string) {
	t.Helper()
	var got string
	row := q.database.Readers().QueryRowContext(t.Context(), "SELECT coalesce(group_concat(name ORDER BY rowid), '') FROM names")
	check(t, row.Scan(&got))
	testkit.Equal(t, "the names", strings.Join(want, ","), got)
}

var check = testkit.Check

// block keeps the queue busy until release is called. Functions that are queued meanwhile share the next
// commit.
func (q *testQueue) block(t *testing.T) (release func()) {
	t.Helper()
	return testkit.Block(t, func(wait func()) error {
		return q.Do(context.WithoutCancel(t.Context()), func(context.Context, names) error { wait(); return nil })
	})
}

// A panicError is the error with which Do panicked.
type panicError struct{ error }

// enqueue calls Do in a goroutine and waits until the function is queued. It returns the channel of the
// result.
func (q *testQueue) enqueue(ctx context.Context, fn txFunc) <-chan error {
	return q.call(func() error { return q.Do(ctx, fn) })
}

// call is enqueue for a call of Do or Create.
func (q *testQueue) call(do func() error) <-chan error {
	before := q.Queued()
	result := make(chan error, 1)
	go func() {
		defer close(result) // closed without a result after runtime.Goexit
		defer func() {
			if recovered := recover(); recovered != nil {
				result <- panicError{recovered.(error)}
			}
		}()
		result <- do()
	}()
	for q.Queued() == before {
		time.Sleep(time.Millisecond)
	}
	return result
}

// doTogether runs functions as one batch and returns their results.
func (q *testQueue) doTogether(t *testing.T, functions ...txFunc) (results []error) {
	t.Helper()
	release := q.block(t)
	var queued []<-chan error
	for _, fn := range functions {
		queued = append(queued, q.enqueue(t.Context(), fn))
	}
	release()
	for _, result := range queued {
		results = append(results, <-result)
	}
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
	canceled := q.enqueue(ctx, adding("canceled"))
	cancel()
	wantQueueError(t, <-canceled, context.Canceled)
	a, b := q.enqueue(t.Context(), adding("a")), q.enqueue(t.Context(), adding("b"))
	testkit.Equal(t, "the waiting callers", 3, q.Waiting())
	release()
	check(t, errors.Join(<-a, <-b))
	testkit.Equal(t, "the waiting callers after the commit", 0, q.Waiting())
	testkit.Equal(t, "the sizes of the batches, without the canceled function", []int{1, 2}, q.batches)
	check(t, q.Do(t.Context(), adding("c"))) // it does not wait for a batch as large as the last one
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
			check(t, q.Create(t.Context(), strconv.Itoa(i)))
		})
	}
	time.Sleep(10 * time.Millisecond) // until all goroutines wait
	close(start)
	callers.Wait()
	if len(q.batches) > 8 {
		t.Errorf("got the batches %d, want few", q.batches)
	}
}

func TestNestedDoIsRejected(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	err := q.Do(t.Context(), func(ctx context.Context, n names) error {
		return errors.Join(n.add(ctx, "rolled back"), q.Do(ctx, adding("nested")))
	})
	testkit.WantError(t, "the error", err, groupcommit.ErrNested)
	q.wantNames(t)
}

// A host may have two stores.
func TestDoWithinATransactionOfAnotherQueueRuns(t *testing.T) {
	t.Parallel()
	q, other := openQueue(t), openQueue(t)
	check(t, q.Do(t.Context(), func(ctx context.Context, n names) error {
		return errors.Join(n.add(ctx, "outer"), other.Do(ctx, func(ctx context.Context, n names) error {
			testkit.WantError(t, "the error", q.Do(ctx, doNothing), groupcommit.ErrNested)
			return n.add(ctx, "inner")
		}))
	}))
	q.wantNames(t, "outer")
	other.wantNames(t, "inner")
}

func TestFullQueueRejectsFunction(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	release := q.block(t)
	ran := atomic.Int32{}
	count := func(context.Context, names) error { ran.Add(1); return nil }
	results := make(chan error)
	for range groupcommit.QueueSize {
		go func() { results <- q.Do(t.Context(), count) }()
	}
	testkit.WaitUntil(t, "the queue is full", func() bool { return q.Queued() == groupcommit.QueueSize })
	wantQueueError(t, q.Do(t.Context(), count), groupcommit.ErrQueueFull)
	release()
	for range groupcommit.QueueSize {
		check(t, <-results)
	}
	testkit.Equal(t, "the runs", int32(groupcommit.QueueSize), ran.Load())
}

// If the context of a leader ends while it waits for the lock of another process, it returns, and another
// caller leads.
func TestLeaderWhoseContextEndsHandsOver(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	soon, end := context.WithTimeout(t.Context(), time.Hour)
	began, begin := make(chan struct{}), make(chan struct{})
	var deadlines []bool
	q.database.begin = func(ctx context.Context) error {
		_, limited := ctx.Deadline()
		if deadlines = append(deadlines, limited); len(deadlines) == 1 {
			close(began)
			<-begin
			end()
		}
		return ctx.Err()
	}
	late := make(chan error, 1)
	go func() { late <- q.Do(soon, adding("late")) }()
	<-began
	hour, cancelHour := context.WithTimeout(t.Context(), time.Hour)
	defer cancelHour()
	older := q.enqueue(hour, adding("older"))
	newest := q.enqueue(t.Context(), adding("newest")) // the newest call has the most time
	close(begin)
	wantQueueError(t, <-late, context.Canceled)
	check(t, errors.Join(<-older, <-newest))
	q.wantNames(t, "newest,older")
	testkit.Equal(t, "whether Begin had a deadline", []bool{true, false}, deadlines)
}

func TestClosedQueueRejectsFunction(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	q.Close()
	wantQueueError(t, q.Do(t.Context(), doNothing), groupcommit.ErrClosed)
}
