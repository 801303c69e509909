package sharedquery_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
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
		if got, err := q.Do(ctx, group, key); err != nil || got != key*key {
			t.Errorf("got %d, %v for the key %d, want %d", got, err, key, key*key)
		}
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
	if keys := <-began; !slices.Equal(keys, []int{1}) {
		t.Errorf("the first run has the keys %v, want 1", keys)
	}
	want := []int{7, 3, 3, 5}
	var others []func()
	for _, key := range want {
		others = append(others, do(t, q, "a", key))
	}
	release <- struct{}{}
	first()
	if keys := <-began; !slices.Equal(keys, want) {
		t.Errorf("the second run has the keys %v, want %v", keys, want)
	}
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
	if _, err := q.Do(t.Context(), "a", 1); err == nil || !strings.Contains(err.Error(), "failure") {
		t.Errorf("got %v, want the panic", err)
	}
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
	if _, err := q.Do(t.Context(), "a", 3); !errors.Is(err, sharedquery.ErrClosed) {
		t.Errorf("after Close: got %v, want %v", err, sharedquery.ErrClosed)
	}
	if runs != 1 {
		t.Errorf("got %d runs, want 1", runs)
	}
	q.Close()
}
