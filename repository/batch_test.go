package repository_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/petstore/domain"
)

// failingFrom returns a function that fails from its nth run, after a change.
func failingFrom(n int, err error) txFunc {
	runs := 0
	return func(ctx context.Context, r domain.Repositories) error {
		if runs++; runs < n {
			return adding(fmt.Sprint("from run ", n))(ctx, r)
		}
		return errors.Join(adding("rolled back")(ctx, r), err)
	}
}

// After three more runs for further functions that fail, all functions have a savepoint.
func TestBatchRunsAgainALimitedNumberOfTimes(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	const failing, limit = 7, 5
	runs := 0
	release := blockWriter(t, s)
	other := enqueue(t.Context(), s, func(ctx context.Context, r domain.Repositories) error {
		runs++
		return adding("other")(ctx, r)
	})
	failures, results := map[int]error{}, map[int]<-chan error{}
	for n := 1; n <= failing; n++ {
		failures[n] = fmt.Errorf("failure %d", n)
		results[n] = enqueue(t.Context(), s, failingFrom(n, failures[n]))
	}
	release()
	if err := <-other; err != nil || runs != limit {
		t.Errorf("another function: got %v after %d runs, want no error after %d", err, runs, limit)
	}
	for n, result := range results {
		want := failures[n]
		if n > limit {
			want = nil
		}
		if err := <-result; !errors.Is(err, want) {
			t.Errorf("the function that fails from run %d: got %v, want %v", n, err, want)
		}
	}
	wantNames(t, s, "other", "from run 6", "from run 7")
}

// The second one fails without a change, but only because of the change of the first.
func TestFailuresThatDependOnEachOtherNeedOneMoreRun(t *testing.T) {
	t.Parallel()
	s, _ := openWithBatches(t)
	failure := errors.New("failure")
	claiming := func(ctx context.Context, r domain.Repositories) error {
		claim := domain.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: "key"}}
		_, claimed, err := r.Idempotency.Claim(ctx, claim)
		if err == nil && claimed {
			err = r.Idempotency.Complete(ctx, claim, nil)
		}
		return errors.Join(err, failure)
	}
	runs := 0
	release := blockWriter(t, s)
	results := []<-chan error{enqueue(t.Context(), s, claiming), enqueue(t.Context(), s, claiming), enqueue(t.Context(), s, claiming)}
	other := enqueue(t.Context(), s, func(context.Context, domain.Repositories) error { runs++; return nil })
	release()
	for _, result := range results {
		if err := <-result; !errors.Is(err, failure) || err.Error() != failure.Error() {
			t.Errorf("got %v, want only %v", err, failure)
		}
	}
	if err := <-other; err != nil || runs != 2 {
		t.Errorf("another function: got %v after %d runs, want no error after 2", err, runs)
	}
}
