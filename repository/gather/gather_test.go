package gather_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"example.com/petstore/repository/gather"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCallersGetTheValuesOfTheirKeys(t *testing.T) {
	t.Parallel()
	began, release := make(chan []int), make(chan struct{})
	q := gather.New(func(_ context.Context, keys []int) ([]int, error) {
		began <- slices.Clone(keys)
		<-release
		values := make([]int, len(keys))
		for i, key := range keys {
			values[i] = key * key
		}
		return values, nil
	})
	defer q.Close()
	var callers sync.WaitGroup
	call := func(key int) {
		callers.Go(func() {
			if got, err := q.Do(t.Context(), key); err != nil || got != key*key {
				t.Errorf("got %d, %v for the key %d, want %d", got, err, key, key*key)
			}
		})
	}
	call(1)
	if keys := <-began; !slices.Equal(keys, []int{1}) {
		t.Errorf("the first run has the keys %v, want 1", keys)
	}
	const others = 8
	for key := range others {
		call(key + 2)
	}
	total := 0
	for total < others { // those that called before the next run began are in it
		release <- struct{}{}
		total += len(<-began)
	}
	release <- struct{}{}
	callers.Wait()
	if total != others {
		t.Errorf("the runs have %d keys, want %d", total, others)
	}
}

func TestErrorIsThatOfTheRunOrTheCaller(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	began, release := make(chan struct{}), make(chan struct{})
	q := gather.New(func(context.Context, []int) ([]int, error) {
		began <- struct{}{}
		<-release
		return nil, failure
	})
	defer q.Close()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { _, err := q.Do(ctx, 1); result <- err }()
	<-began
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller whose context ends: got %v, want %v", err, context.Canceled)
	}
	release <- struct{}{}
	go func() { _, err := q.Do(t.Context(), 1); result <- err }()
	<-began
	release <- struct{}{}
	if err := <-result; !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
}

func TestCloseInterruptsTheRun(t *testing.T) {
	t.Parallel()
	began, result := make(chan struct{}), make(chan error)
	q := gather.New(func(ctx context.Context, _ []int) ([]int, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	go func() { _, err := q.Do(t.Context(), 1); result <- err }()
	<-began
	go q.Close()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	q.Close()
}
