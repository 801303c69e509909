package freshness_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
)

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
