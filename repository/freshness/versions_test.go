package freshness_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
	"example.com/petstore/repository/sharedquery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A database is an engine.Database of which only PollChanges and ChecksBeforeRead are used.
type database struct {
	engine.Database
	poll             func(context.Context) (engine.Changes, error)
	checksBeforeRead bool
}

func (d database) PollChanges(ctx context.Context) (engine.Changes, error) { return d.poll(ctx) }

func (d database) ChecksBeforeRead() bool { return d.checksBeforeRead }

func none(context.Context) (engine.Changes, error) { return engine.Changes{}, nil }

// newVersions returns versions that are closed when the test ends.
func newVersions(t *testing.T, d database) *freshness.Versions {
	t.Helper()
	v := freshness.New(d)
	t.Cleanup(v.Close)
	return v
}

// increases returns which numbers fn increases.
func increases(v *freshness.Versions, fn func()) engine.Changes {
	added, changed := v.Lists()
	keys := v.Keys()
	fn()
	addedAfter, changedAfter := v.Lists()
	return engine.Changes{Added: addedAfter > added, Changed: changedAfter > changed, Keys: v.Keys() > keys}
}

// allChanges are each kind of change, none and all.
var allChanges = []engine.Changes{{}, {Added: true}, {Changed: true}, {Keys: true}, engine.AllChanges}

func TestCommitIncreasesTheNumbersOfItsChanges(t *testing.T) {
	t.Parallel()
	v := newVersions(t, database{poll: none, checksBeforeRead: true})
	for _, want := range allChanges {
		if diff := cmp.Diff(want, increases(v, func() { v.Committed(want) })); diff != "" {
			t.Errorf("the numbers that increased (-want +got)\n%s", diff)
		}
	}
}

func TestChangesOfOthersIncreaseTheNumbers(t *testing.T) {
	t.Parallel()
	for _, want := range allChanges {
		poll := func(context.Context) (engine.Changes, error) { return want, nil }
		refreshed := newVersions(t, database{poll: poll, checksBeforeRead: true})
		polled := newVersions(t, database{poll: poll})
		for name, got := range map[string]engine.Changes{
			"Refresh": increases(refreshed, func() { check(t, refreshed.Refresh(t.Context(), 0)) }),
			"Poll":    increases(polled, func() { check(t, polled.Poll()) }),
		} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the numbers that %s increased (-want +got)\n%s", name, diff)
			}
		}
	}
}

func TestFailedPollIncreasesAllNumbers(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	v := newVersions(t, database{poll: func(context.Context) (engine.Changes, error) { return engine.Changes{}, failure }})
	got := increases(v, func() {
		if err := v.Poll(); !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
	})
	if got != engine.AllChanges {
		t.Errorf("got increases of %+v, want all", got)
	}
}

// Refresh and Poll never both call PollChanges.
func TestOnlyOneOfRefreshAndPollUsesTheDatabase(t *testing.T) {
	t.Parallel()
	unwanted := func(context.Context) (engine.Changes, error) {
		t.Error("PollChanges was called")
		return engine.Changes{}, nil
	}
	if err := newVersions(t, database{poll: unwanted, checksBeforeRead: true}).Poll(); err != nil {
		t.Error(err)
	}
	if err := newVersions(t, database{poll: unwanted}).Refresh(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// The goroutines have ended, see TestMain.
func TestCloseInterruptsTheQuery(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	var once sync.Once
	v := freshness.New(database{checksBeforeRead: true, poll: func(ctx context.Context) (engine.Changes, error) {
		once.Do(func() { close(began) })
		<-ctx.Done()
		return engine.Changes{}, ctx.Err()
	}})
	refreshed := make(chan error)
	go func() { refreshed <- v.Refresh(context.WithoutCancel(t.Context()), 0) }()
	<-began
	v.Close()
	if err := <-refreshed; !errors.Is(err, sharedquery.ErrClosed) {
		t.Errorf("Refresh during Close: got %v, want %v", err, sharedquery.ErrClosed)
	}
	v.Close()
	if err := v.Refresh(t.Context(), 0); !errors.Is(err, sharedquery.ErrClosed) {
		t.Errorf("Refresh after Close: got %v, want %v", err, sharedquery.ErrClosed)
	}
}

// Nobody can poll during a slow checkpoint, but other processes can commit.
func TestNumbersIncreaseWhileNobodyPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVersions(t, database{poll: none})
		want := func(name string, want engine.Changes) {
			t.Helper()
			if got := increases(v, func() { check(t, v.Refresh(t.Context(), 0)) }); got != want {
				t.Errorf("%s: got increases of %+v, want %+v", name, got, want)
			}
		}
		want("before the first poll", engine.AllChanges)
		check(t, v.Poll())
		time.Sleep(89 * time.Millisecond) // of the clock of the test
		want("89 ms after a poll", engine.Changes{})
		time.Sleep(time.Millisecond)
		want("90 ms after a poll", engine.AllChanges)
		want("again", engine.Changes{}) // an entry since then is not older
		time.Sleep(90 * time.Millisecond)
		want("90 ms later", engine.AllChanges)
	})
}

// Queries are the calls of PollChanges of a database. Each sends on began, then waits for its
// result.
type queries struct {
	began  chan struct{}
	result chan error
}

func newQueries() queries { return queries{make(chan struct{}), make(chan error)} }

func (q queries) database() database {
	return database{checksBeforeRead: true, poll: func(context.Context) (engine.Changes, error) {
		q.began <- struct{}{}
		return engine.Changes{Added: true}, <-q.result
	}}
}

// end ends the query that has begun.
func (q queries) end(err error) { q.result <- err }

// wantNone expects that no query has begun.
func (q queries) wantNone(t *testing.T) {
	t.Helper()
	select {
	case <-q.began:
		t.Error("another query has begun")
	default:
	}
}

// A waitingContext closes waiting when somebody waits for its end.
type waitingContext struct {
	context.Context
	once    sync.Once
	waiting chan struct{}
}

func (c *waitingContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.waiting) })
	return c.Context.Done()
}

// refresh calls Refresh in a goroutine, waits until it waits for a query, and returns the channel
// of its result.
func refresh(ctx context.Context, v *freshness.Versions) <-chan error {
	waiting := &waitingContext{Context: ctx, waiting: make(chan struct{})}
	result := make(chan error, 1)
	go func() { result <- v.Refresh(waiting, 0) }()
	<-waiting.waiting
	return result
}

func wantResults(t *testing.T, want error, results ...<-chan error) {
	t.Helper()
	for _, result := range results {
		if err := <-result; !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestOneQueryServesAllWhoWaitWhenItBegins(t *testing.T) {
	t.Parallel()
	q := newQueries()
	v := newVersions(t, q.database())
	first := refresh(t.Context(), v)
	<-q.began
	var others []<-chan error
	for range 8 {
		others = append(others, refresh(t.Context(), v))
	}
	q.end(nil)
	wantResults(t, nil, first)
	<-q.began
	for _, other := range others { // the first query began before they called
		select {
		case err := <-other:
			t.Errorf("got %v before the second query has ended", err)
		default:
		}
	}
	if added, _ := v.Lists(); added != 1 {
		t.Errorf("got the number %d after the first query, want 1", added)
	}
	q.end(nil)
	wantResults(t, nil, others...)
	if added, _ := v.Lists(); added != 2 {
		t.Errorf("got the number %d after both queries, want 2", added)
	}
	q.wantNone(t)
}

func TestQueryThatBeganWithinMaxAgeCounts(t *testing.T) {
	t.Parallel()
	q := newQueries()
	v := newVersions(t, q.database())
	wantQuery := func(maxAge time.Duration, end error) {
		t.Helper()
		result := make(chan error, 1)
		go func() { result <- v.Refresh(t.Context(), maxAge) }()
		<-q.began
		q.end(end)
		wantResults(t, end, result)
	}
	failure := errors.New("failure")
	wantQuery(time.Hour, failure)
	wantQuery(time.Hour, nil) // none has succeeded yet
	if err := v.Refresh(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
	q.wantNone(t)
	wantQuery(0, failure)
	if err := v.Refresh(t.Context(), time.Hour); err != nil { // one has succeeded before
		t.Error(err)
	}
	q.wantNone(t)
}

func TestFailedQueryIsTheErrorOfAllWhoWait(t *testing.T) {
	t.Parallel()
	q := newQueries()
	v := newVersions(t, q.database())
	first := refresh(t.Context(), v)
	<-q.began
	second, third := refresh(t.Context(), v), refresh(t.Context(), v)
	failure := errors.New("failure")
	q.end(nil)
	<-q.began
	q.end(failure)
	wantResults(t, nil, first)
	wantResults(t, failure, second, third)
	next := refresh(t.Context(), v)
	<-q.began
	q.end(nil)
	wantResults(t, nil, next)
}

func TestCallerWaitsUntilTheEndOfItsContext(t *testing.T) {
	t.Parallel()
	q := newQueries()
	v := newVersions(t, q.database())
	ctx, cancel := context.WithCancel(t.Context())
	canceled, other := refresh(ctx, v), refresh(t.Context(), v)
	<-q.began
	cancel()
	wantResults(t, context.Canceled, canceled)
	q.end(nil)
	select {
	case <-q.began: // if other has called after the first query began
		q.end(nil)
	case err := <-other:
		if err != nil {
			t.Error(err)
		}
		return
	}
	wantResults(t, nil, other)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
