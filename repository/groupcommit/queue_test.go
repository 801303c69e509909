package groupcommit_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
	"example.com/petstore/repository/storetest"
)

func TestQueuedFunctionsShareACommit(t *testing.T) {
	t.Parallel()
	q := openQueue(t, nil)
	release := q.block(t)
	ctx, cancel := context.WithCancel(t.Context())
	canceled := q.enqueue(ctx, adding("canceled"))
	cancel()
	wantQueueError(t, <-canceled, context.Canceled)
	var results []<-chan error
	for _, name := range []string{"a", "b", "c"} {
		results = append(results, q.enqueue(t.Context(), adding(name)))
	}
	storetest.Equal(t, "the waiting callers", 4, q.Waiting())
	release()
	for _, result := range results {
		check(t, <-result)
	}
	storetest.Equal(t, "the waiting callers after the commit", 0, q.Waiting())
	q.wantNames(t, "a", "b", "c")
	q.wantBatches(t, 1, 3) // without the canceled one
	// A lone function is not delayed until the batch is as large as the last one.
	check(t, q.Do(t.Context(), adding("d")))
	q.wantNames(t, "a", "b", "c", "d")
}

func TestStartedFunctionIsNotCanceled(t *testing.T) {
	t.Parallel()
	q := openQueue(t, nil)
	type key struct{}
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Hour)
	err := q.Do(ctx, func(ctx context.Context, n names) error {
		cancel()
		if _, limited := ctx.Deadline(); limited || ctx.Done() != nil || ctx.Err() != nil || ctx.Value(key{}) != "value" {
			t.Errorf("got a context with the deadline %t, %v and the value %v, want one that does not end", limited, ctx.Err(), ctx.Value(key{}))
		}
		return n.Add(ctx, "Rex")
	})
	check(t, err)
	q.wantNames(t, "Rex")
}

func TestNestedDoIsRejected(t *testing.T) {
	t.Parallel()
	q := openQueue(t, nil)
	err := q.Do(t.Context(), func(ctx context.Context, n names) error {
		return errors.Join(n.Add(ctx, "rolled back"), q.Do(ctx, adding("nested")))
	})
	storetest.WantError(t, "the error", err, groupcommit.ErrNested)
	q.wantNames(t)
}

func TestFullQueueRejectsFunction(t *testing.T) {
	t.Parallel()
	q := openQueue(t, nil)
	release := q.block(t)
	ran := atomic.Int32{}
	count := func(context.Context, names) error { ran.Add(1); return nil }
	results := make(chan error)
	for range groupcommit.QueueSize {
		go func() { results <- q.Do(t.Context(), count) }()
	}
	for q.Queued() < groupcommit.QueueSize {
		time.Sleep(time.Millisecond)
	}
	wantQueueError(t, q.Do(t.Context(), count), groupcommit.ErrQueueFull)
	release()
	for range groupcommit.QueueSize {
		check(t, <-results)
	}
	storetest.Equal(t, "the runs", int32(groupcommit.QueueSize), ran.Load())
}

func TestFunctionThatIsQueuedAfterTheLastBatchIsRejected(t *testing.T) {
	t.Parallel()
	q := openQueue(t, nil)
	q.Close()
	for range 2 { // the second one after the last tick
		storetest.WantError(t, "WaitForLate", q.WaitForLate(t.Context()), groupcommit.ErrClosed)
	}
}

func TestChangesAreCommittedBeforeAnyCallerReturns(t *testing.T) {
	t.Parallel()
	q := openQueue(t, nil)
	for name, step := range map[string]struct {
		fn   txFunc
		want engine.Changes
	}{
		"no change": {func(context.Context, names) error { return nil }, engine.Changes{}},
		"added":     {adding("Rex"), engine.Changes{Added: true}},
		"no row": {func(_ context.Context, n names) error {
			n.MarkAdded(0)
			n.MarkChanged(0)
			n.MarkKeysChanged(0)
			n.MarkDirty(1)
			return nil
		}, engine.Changes{}},
		"changed": {func(_ context.Context, n names) error { n.MarkChanged(1); return nil }, engine.Changes{Changed: true}},
		"keys":    {func(_ context.Context, n names) error { n.MarkKeysChanged(1); return nil }, engine.Changes{Keys: true}},
	} {
		q.committed = nil
		_ = q.Do(t.Context(), step.fn)
		storetest.Equal(t, name+": the changes of the commits", []engine.Changes{step.want}, q.committed)
	}
}

func TestPollIsCalledInEachTransactionAndBetween(t *testing.T) {
	t.Parallel()
	var polls atomic.Int64
	failure := errors.New("failure")
	var result atomic.Pointer[error]
	result.Store(new(error))
	poll := func() error { polls.Add(1); return *result.Load() }
	open := func(interval time.Duration) *groupcommit.Queue[names] {
		shared := openQueue(t, nil)
		q := groupcommit.NewQueue(shared.database, groupcommit.Options{
			Poll: poll, PollInterval: interval, Commit: func(_ engine.Changes, commit func() error) error { return commit() },
		}, newNames)
		t.Cleanup(q.Close)
		return q
	}
	seldom := open(time.Hour)
	for want := range int64(3) {
		check(t, seldom.Do(t.Context(), func(context.Context, names) error { return nil }))
		storetest.Equal(t, "the polls", want+1, polls.Load())
	}
	result.Store(&failure)
	wantQueueError(t, seldom.Do(t.Context(), func(context.Context, names) error {
		t.Error("the function ran after the poll had failed")
		return nil
	}), failure)
	before := polls.Load()
	open(time.Millisecond)
	for polls.Load() < before+3 { // also after a failure
		time.Sleep(time.Millisecond)
	}
}
