package sharedquery_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sharedquery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneRunServesAllOfAGroupWhoWaitWhenItBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var runs []string
		var ended atomic.Int32
		q := sharedquery.New(func(_ context.Context, group string, keys []int) (squares []int, _ error) {
			runs = append(runs, fmt.Sprint(group, keys))
			if group == "slow" {
				<-release
			}
			for _, key := range keys {
				squares = append(squares, key*key)
			}
			return squares, nil
		})
		defer q.Close()
		do := func(group string, key int) {
			go func() {
				got, err := q.Do(t.Context(), group, key)
				testkit.Equal(t, fmt.Sprint("the square of ", key), key*key, got, err)
				ended.Add(1)
			}()
			synctest.Wait()
		}
		for _, key := range []int{1, 7, 3, 3, 5} {
			do("slow", key)
		}
		do("fast", 2)
		testkit.Equal(t, "the results while the run of another group goes on", int32(1), ended.Load())
		release <- struct{}{}
		synctest.Wait()
		testkit.Equal(t, "the runs", []string{"slow[1]", "fast[2]", "slow[7 3 3 5]"}, runs)
		release <- struct{}{}
		synctest.Wait()
		testkit.Equal(t, "the results", int32(6), ended.Load())
	})
}

// This test is not parallel: it runs with one processor. If a run did not yield, each goroutine that is
// ready to run would run the query alone.
func TestGoroutinesThatAreReadyToRunShareARun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var runs atomic.Int32
	q := sharedquery.New(func(_ context.Context, _ string, keys []int) ([]int, error) {
		runs.Add(1)
		return keys, nil
	})
	defer q.Close()
	start := make(chan struct{})
	var callers sync.WaitGroup
	for key := range 64 {
		callers.Go(func() {
			<-start
			got, err := q.Do(t.Context(), "", key)
			testkit.Equal(t, "the value", key, got, err)
		})
	}
	time.Sleep(10 * time.Millisecond) // until all goroutines wait
	close(start)
	callers.Wait()
	if n := runs.Load(); n > 8 {
		t.Errorf("got %d runs, want few", n)
	}
}

// A caller that is alone runs the query on its own goroutine. A panic there is its own panic.
func TestPanicOfASharedQueryIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		q := sharedquery.New(func(context.Context, string, []int) ([]int, error) { <-release; panic("failure") })
		defer q.Close()
		errs := make(chan error, 2)
		for key := range 2 {
			go func() {
				defer func() {
					if panicked := recover(); panicked != nil {
						errs <- fmt.Errorf("a panic of the caller: %v", panicked)
					}
				}()
				_, err := q.Do(t.Context(), "a", key)
				errs <- err
			}()
			synctest.Wait()
		}
		close(release)
		testkit.WantMessage(t, "Do of one caller", <-errs, "a panic of the caller: failure")
		testkit.WantMessage(t, "Do of those who share a query", <-errs, "a query panicked: failure")
	})
}

func TestCloseInterruptsTheSharedRunAndAllowsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs, ended, release := 0, false, make(chan struct{})
		q := sharedquery.New(func(ctx context.Context, _ string, keys []int) ([]int, error) {
			if runs++; runs == 1 {
				<-release
				return keys, nil
			}
			<-ctx.Done()
			time.Sleep(time.Second) // synctest advances the clock
			ended = true
			return nil, ctx.Err()
		})
		errs := make(chan error, 3)
		do := func(key int) {
			go func() { _, err := q.Do(t.Context(), "a", key); errs <- err }()
			synctest.Wait()
		}
		do(0)
		do(1)
		close(release)
		testkit.Check(t, <-errs)
		do(2) // while the run for 1 is in progress
		q.Close()
		testkit.Equal(t, "whether the run had ended", true, ended)
		for range 2 {
			testkit.WantError(t, "the error", <-errs, sharedquery.ErrClosed)
		}
		_, err := q.Do(t.Context(), "a", 3)
		testkit.WantError(t, "Do after Close", err, sharedquery.ErrClosed)
		testkit.Equal(t, "the runs", 2, runs)
		q.Close()
	})
}

func TestCloseWaitsForTheRunOfALoneCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		q := sharedquery.New(func(_ context.Context, _ string, keys []int) ([]int, error) {
			time.Sleep(time.Second) // synctest advances the clock
			ended = true
			return keys, nil
		})
		go func() {
			got, err := q.Do(t.Context(), "a", 1)
			testkit.Equal(t, "the value", 1, got, err)
		}()
		synctest.Wait()
		q.Close()
		testkit.Equal(t, "whether the run had ended", true, ended)
	})
}
