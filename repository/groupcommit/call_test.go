package groupcommit_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
)

func TestStartedFunctionIsNotCanceled(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	type key struct{}
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Hour)
	check(t, q.Do(ctx, func(ctx context.Context, n names) error {
		cancel()
		if _, limited := ctx.Deadline(); limited || ctx.Done() != nil || ctx.Err() != nil || ctx.Value(key{}) != "value" {
			t.Errorf("got a context with the deadline %t, %v and the value %v, want one that does not end", limited, ctx.Err(), ctx.Value(key{}))
		}
		return n.add(ctx, "Rex")
	}))
	q.wantNames(t, "Rex")
}

// A function may call runtime.Goexit, as t.FailNow does. Its goroutine ends, its changes are rolled back, and the
// other functions of the batch are committed.
func TestGoexitConcernsItsCallerAlone(t *testing.T) {
	t.Parallel()
	exiting := func(ctx context.Context, n names) error {
		check(t, n.add(ctx, "rolled back"))
		runtime.Goexit()
		return nil
	}
	for name, functions := range map[string][]txFunc{
		"of the leader": {exiting, adding("a"), adding("b")},
		"of another":    {adding("a"), exiting, adding("b")},
	} {
		q := openQueue(t)
		release := q.block(t)
		var results []<-chan error
		for _, fn := range functions {
			results = append(results, q.enqueue(t.Context(), fn))
		}
		release()
		var returned []error
		for _, result := range results {
			if err, ok := <-result; ok {
				returned = append(returned, err)
			}
		}
		testkit.Equal(t, name+": the results of the others", []error{nil, nil}, returned)
		q.wantNames(t, "a", "b")
		check(t, q.Do(t.Context(), adding("next")))
	}
}
