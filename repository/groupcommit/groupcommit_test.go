package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names are the repository of the tests, on a table of its own.
type names struct {
	*groupcommit.Tx
	inserts *groupcommit.Statement[string, struct{}]
}

// Add adds a name.
func (n names) Add(ctx context.Context, name string) error {
	n.MarkAdded(1)
	_, err := n.inserts.Do(ctx, name)
	return err
}

// Remove removes a name.
func (n names) Remove(ctx context.Context, name string) error {
	result, err := n.ExecContext(ctx, "DELETE FROM names WHERE name = ?", name)
	if err != nil {
		return err
	}
	rows, err := result.RowsAffected()
	n.MarkChanged(rows)
	return err
}

// exec runs a statement.
func (n names) exec(ctx context.Context, statement string) error {
	_, err := n.ExecContext(ctx, statement)
	return err
}

// A txFunc is the argument of Do.
type txFunc = func(context.Context, names) error

// A testQueue is a Queue on a new SQLite file, with what it has done.
type testQueue struct {
	*groupcommit.Queue[names]
	database engine.Database

	batches   []int            // the numbers of functions that shared a commit, before their callers return
	committed []engine.Changes // of the commits
}

// openQueue returns a Queue on a database that wrap may change.
func openQueue(t *testing.T, wrap func(engine.Database) engine.Database) *testQueue {
	t.Helper()
	database, err := sqlite.New(filepath.Join(t.TempDir(), "pets.db")).Open(t.Context(), engine.Options{Migrate: true, MaxOpenConns: 1})
	check(t, err)
	tx, err := database.Begin(t.Context())
	check(t, err)
	_, err = tx.ExecContext(t.Context(), "CREATE TABLE names (name TEXT NOT NULL UNIQUE)")
	check(t, errors.Join(err, tx.Commit(engine.Changes{})))
	if wrap != nil {
		database = wrap(database)
	}
	q := &testQueue{database: database}
	q.Queue = groupcommit.NewQueue(database, groupcommit.Options{
		Poll: func() error { return nil }, PollInterval: time.Hour,
		Commit: q.commit, Observe: func(batch int, _ time.Duration) { q.batches = append(q.batches, batch) },
	}, newNames)
	t.Cleanup(func() {
		q.Close()
		check(t, database.Close())
	})
	return q
}

func newNames(tx *groupcommit.Tx) names {
	return names{tx, groupcommit.NewStatement(tx, func(ctx context.Context, all []string) ([]struct{}, error) {
		for _, name := range all {
			if _, err := tx.ExecContext(ctx, "INSERT INTO names (name) VALUES (?)", name); err != nil {
				return nil, err
			}
		}
		return make([]struct{}, len(all)), nil
	})}
}

func (q *testQueue) commit(c engine.Changes, commit func() error) error {
	q.committed = append(q.committed, c)
	return commit()
}

// wantBatches compares the numbers of functions that shared a commit with want.
func (q *testQueue) wantBatches(t *testing.T, want ...int) {
	t.Helper()
	storetest.Equal(t, "the sizes of the batches", want, q.batches)
}

// wantNames compares all names with want, which are in the order in which they were added.
func (q *testQueue) wantNames(t *testing.T, want ...string) {
	t.Helper()
	rows, err := q.database.Readers().QueryContext(t.Context(), "SELECT name FROM names ORDER BY rowid")
	check(t, err)
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name string
		check(t, rows.Scan(&name))
		got = append(got, name)
	}
	storetest.Equal(t, "the names", want, got, rows.Err())
}

// adding returns a function that adds a name.
func adding(name string) txFunc {
	return func(ctx context.Context, n names) error { return n.Add(ctx, name) }
}

// failing returns a function that adds a name and returns err.
func failing(name string, err error) txFunc {
	return func(ctx context.Context, n names) error { return errors.Join(n.Add(ctx, name), err) }
}

var check = storetest.Check

// block keeps the queue busy until release is called, so that the functions that are queued
// meanwhile share the next commit.
func (q *testQueue) block(t *testing.T) (release func()) {
	t.Helper()
	return storetest.Block(t, func(wait func()) error {
		return q.Do(context.WithoutCancel(t.Context()), func(context.Context, names) error { wait(); return nil })
	})
}

// errPanic is wrapped by the result of enqueue if Do panicked.
var errPanic = errors.New("panic")

// enqueue calls Do in a goroutine, waits until the function is queued, and returns the channel
// of its result.
func (q *testQueue) enqueue(ctx context.Context, fn txFunc) <-chan error {
	before := q.Queued()
	result := make(chan error, 1)
	go func() {
		defer func() {
			if recovered := recover(); recovered != nil {
				result <- fmt.Errorf("%w: %w", errPanic, recovered.(error))
			}
		}()
		result <- q.Do(ctx, fn)
	}()
	for q.Queued() == before {
		time.Sleep(time.Millisecond)
	}
	return result
}

// wantQueueError expects an error that a function did not return.
func wantQueueError(t *testing.T, err, want error) {
	t.Helper()
	if !isQueueError(err) || !errors.Is(err, want) {
		t.Errorf("got %v, want an Error that wraps %v", err, want)
	}
}

// isQueueError reports whether err is an error that a function did not return.
func isQueueError(err error) bool {
	_, ok := errors.AsType[*groupcommit.Error](err)
	return ok
}
