package sharedquery_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"example.com/petstore/repository/sharedquery"
	"example.com/petstore/repository/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// do calls Do in a goroutine, waits until it waits for a run, and returns a function that waits for
// its result, which must be the square of the key.
func do(t *testing.T, q *sharedquery.Query[string, int, int], group string, key int) (wait func()) {
	t.Helper()
	ctx, done := &waitingContext{Context: t.Context(), waiting: make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(done)
		got, err := q.Do(ctx, group, key)
		storetest.Equal(t, fmt.Sprint("the square of ", key), key*key, got, err)
	}()
	<-ctx.waiting
	return func() { <-done }
}

func TestOneRunServesAllWhoWaitWhenItBegins(t *testing.T) {
	t.Parallel()
	began, release := make(chan []int), make(chan struct{})
	q := sharedquery.New(func(_ context.Context, _ string, keys []int) ([]int, error) {
		began <- slices.Clone(keys)
		<-release
		values := make([]int, len(keys))
		for i, key := range keys {
			values[i] = key * key
		}
		return values, nil
	})
	defer q.Close()
	first := do(t, q, "a", 1)
	storetest.Equal(t, "the keys of the first run", []int{1}, <-began)
	want := []int{7, 3, 3, 5}
	var others []func()
	for _, key := range want {
		others = append(others, do(t, q, "a", key))
	}
	release <- struct{}{}
	first()
	storetest.Equal(t, "the keys of the second run", want, <-began)
	release <- struct{}{}
	for _, wait := range others {
		wait()
	}
}

func TestGroupDoesNotWaitForAnother(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	q := sharedquery.New(func(_ context.Context, group string, keys []int) ([]int, error) {
		if group == "slow" {
			close(began)
			<-release
		}
		return []int{keys[0] * keys[0]}, nil
	})
	defer q.Close()
	slow := do(t, q, "slow", 2)
	<-began
	for key := range 3 {
		do(t, q, "fast", key)()
	}
	close(release)
	slow()
}

func TestPanicOfTheQueryIsAnError(t *testing.T) {
	t.Parallel()
	q := sharedquery.New(func(context.Context, string, []int) ([]int, error) { panic("failure") })
	defer q.Close()
	_, err := q.Do(t.Context(), "a", 1)
	storetest.WantMessage(t, "Do", err, "failure")
}

func TestCloseInterruptsTheRunAndAllowsNoOther(t *testing.T) {
	t.Parallel()
	began, result, runs := make(chan struct{}), make(chan error, 2), 0
	var ended atomic.Bool
	q := sharedquery.New(func(ctx context.Context, _ string, _ []int) ([]int, error) {
		runs++
		close(began)
		<-ctx.Done()
		runtime.Gosched()
		ended.Store(true)
		return nil, ctx.Err()
	})
	go func() { _, err := q.Do(t.Context(), "a", 1); result <- err }()
	<-began
	waiting := &waitingContext{Context: t.Context(), waiting: make(chan struct{})}
	go func() { _, err := q.Do(waiting, "a", 2); result <- err }()
	<-waiting.waiting
	if q.Close(); !ended.Load() {
		t.Error("Close returned before the run had ended")
	}
	for range 2 {
		storetest.WantError(t, "the error", <-result, sharedquery.ErrClosed)
	}
	_, err := q.Do(t.Context(), "a", 3)
	storetest.WantError(t, "Do after Close", err, sharedquery.ErrClosed)
	storetest.Equal(t, "the runs", 1, runs)
	q.Close()
}
