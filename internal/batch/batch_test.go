package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/test/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A group is a Group whose runs record their calls and last until they are released.
type group struct {
	*batch.Group[int]
	release chan error // what a run returns

	mu   sync.Mutex
	runs [][]int
}

func newGroup(o batch.Options) *group {
	g := &group{release: make(chan error)}
	g.Group = batch.New(o, func(ctx context.Context, deadline time.Time, take func() []int) error {
		ctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		g.record(take())
		select {
		case err := <-g.release:
			return err
		case <-ctx.Done():
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
	})
	return g
}

// newLongGroup returns a group whose runs last until they are released, whatever their deadline.
func newLongGroup(o batch.Options) *group {
	g := &group{release: make(chan error)}
	g.Group = batch.New(o, func(_ context.Context, _ time.Time, take func() []int) error {
		g.record(take())
		return <-g.release
	})
	return g
}

func (g *group) record(calls []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs = append(g.runs, calls)
}

// wantRuns compares the calls of each run with want.
func (g *group) wantRuns(t *testing.T, want [][]int) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	testkit.Equal(t, "the runs", want, g.runs)
}

// do calls Do in a goroutine, and returns the channel of its result once the call runs or is queued. The
// channel is closed without a result after runtime.Goexit.
func (g *group) do(ctx context.Context, value int) <-chan error {
	result := make(chan error, 1)
	go func() {
		defer close(result)
		defer func() {
			if panicked := recover(); panicked != nil {
				result <- fmt.Errorf("panic: %v", panicked)
			}
		}()
		result <- g.Do(ctx, value)
	}()
	synctest.Wait()
	return result
}

// end ends the current run with an error.
func (g *group) end(err error) {
	g.release <- err
	synctest.Wait()
}

// pending reports whether a call has no result yet.
func pending(result <-chan error) bool { return len(result) == 0 }

func TestCallsThatArriveDuringARunShareTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, failure := newGroup(batch.Options{Size: 3, Queue: 5}), errors.New("failure")
		var results []<-chan error
		for value := range 6 {
			results = append(results, g.do(t.Context(), value))
		}
		testkit.WantError(t, "a call beyond the queue", g.Do(t.Context(), 6), batch.ErrQueueFull)
		testkit.Equal(t, "the callers", 6, g.Waiting())
		g.end(nil)
		g.end(failure)
		testkit.Equal(t, "whether a call of the last batch has its result", false, !pending(results[4]))
		g.end(nil)
		g.wantRuns(t, [][]int{{0}, {1, 2, 3}, {4, 5}})
		for value, want := range []error{nil, failure, failure, failure, nil, nil} {
			got := <-results[value]
			testkit.Equal(t, fmt.Sprint("whether the result is that of the run of ", value), true, want == got) //nolint:errorlint // not wrapped
		}
		testkit.Equal(t, "the callers", 0, g.Waiting())
	})
}

func TestLeaderWaitsForAsManyCallsAsTheLastBatchHad(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		delay, arrives, want time.Duration // how long the leader waited
		runs                 [][]int
	}{
		{0, time.Millisecond, 0, [][]int{{0}, {1, 2}, {3}}},
		{time.Millisecond, time.Millisecond / 2, time.Millisecond / 2, [][]int{{0}, {1, 2}, {3, 4}}},
		{time.Millisecond, 2 * time.Millisecond, time.Millisecond, [][]int{{0}, {1, 2}, {3}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(batch.Options{Delay: test.delay})
			for value := range 3 {
				g.do(t.Context(), value)
			}
			g.end(nil)
			g.end(nil)
			time.AfterFunc(test.arrives, func() { _ = g.Do(t.Context(), 4) })
			start := time.Now()
			g.do(t.Context(), 3)
			g.end(nil)
			testkit.Equal(t, "the wait", test.want, time.Since(start))
			g.wantRuns(t, test.runs)
			if len(test.runs[2]) == 1 { // the late call runs alone
				g.end(nil)
			}
		})
	}
}

func TestQueuedCallIsWithdrawnWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(batch.Options{})
		g.do(t.Context(), 0)
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := g.do(ctx, 1)
		g.do(t.Context(), 2)
		cancel()
		testkit.WantError(t, "the error", <-withdrawn, context.Canceled)
		testkit.WantError(t, "with an ended context", g.Do(ctx, 3), context.Canceled)
		g.end(nil)
		g.end(nil)
		g.wantRuns(t, [][]int{{0}, {2}})
	})
}

// A run may look at its calls before it takes them, as a transaction that reads what they need while it begins.
func TestPeekReturnsTheCallsThatAreQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, next := &group{}, make(chan struct{})
		g.Group = batch.New(batch.Options{Size: 3}, func(_ context.Context, _ time.Time, take func() []int) error {
			<-next
			g.record(g.Peek())
			<-next
			g.record(take())
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		leader, withdrawn, other, later := g.do(t.Context(), 0), g.do(ctx, 1), g.do(t.Context(), 2), g.do(t.Context(), 3)
		next <- struct{}{}
		synctest.Wait()
		cancel()
		testkit.WantError(t, "the error", <-withdrawn, context.Canceled)
		next <- struct{}{}
		testkit.Check(t, errors.Join(<-leader, <-other, <-later))
		g.wantRuns(t, [][]int{{0, 1, 2}, {0, 2, 3}})
	})
}

// A caller that leaves would otherwise get its result, or lead.
func TestOnlyWithLeaveACallerReturnsDuringItsRun(t *testing.T) {
	t.Parallel()
	for _, leave := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(batch.Options{Leave: leave})
			g.do(t.Context(), 0)
			ctx, cancel := context.WithCancel(t.Context())
			leader, follower := g.do(t.Context(), 1), g.do(ctx, 2)
			g.end(nil)
			cancel()
			synctest.Wait()
			testkit.Equal(t, "whether the follower waits", !leave, pending(follower))
			g.end(nil)
			testkit.Check(t, <-leader)
			if err := <-follower; leave != errors.Is(err, context.Canceled) {
				t.Errorf("got %v with Leave %t", err, leave)
			}
		})
	}
}

// The other calls run again, because the run failed for a reason of its leader. A deadline that is over
// counts even if the context has not ended yet.
func TestLeaderWhoseContextEndsFailsAloneAndTheNewestLeads(t *testing.T) {
	t.Parallel()
	for _, leave := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(batch.Options{Leave: leave})
			first := g.do(t.Context(), 0)
			soon, cancelSoon := context.WithTimeout(t.Context(), time.Second)
			defer cancelSoon()
			ended, cancel := context.WithCancel(t.Context())
			var leader, older, gone <-chan error
			if !leave {
				leader = g.do(soon, 1)
			}
			older, gone = g.do(t.Context(), 2), g.do(ended, 3)
			if leave { // the newest leads
				leader = g.do(soon, 1)
			}
			g.end(nil)
			newest := g.do(t.Context(), 4)
			cancel()
			synctest.Wait()
			time.Sleep(time.Second) // until the deadline; synctest advances the clock
			synctest.Wait()
			testkit.WantError(t, "the error of the leader", <-leader, context.DeadlineExceeded)
			testkit.WantError(t, "the error of a call whose context has ended, too", <-gone, context.Canceled)
			g.end(nil)
			testkit.Check(t, errors.Join(<-first, <-older, <-newest))
			g.wantRuns(t, [][]int{{0}, {1, 2, 3}, {4, 2}})
		})
	}
}

// One timer serves all calls, so it must be set for one deadline after the other. The run may take longer.
func TestQueuedCallTakesAtMostTheTimeout(t *testing.T) {
	t.Parallel()
	for _, leave := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g, start := newLongGroup(batch.Options{Leave: leave, Timeout: time.Second}), time.Now()
			leader := g.do(t.Context(), 0)
			var checks sync.WaitGroup
			for _, arrives := range []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, 1600 * time.Millisecond} {
				time.Sleep(arrives - time.Since(start))
				queued := g.do(t.Context(), 1)
				checks.Go(func() {
					testkit.WantError(t, "the error of a queued call", <-queued, context.DeadlineExceeded)
					testkit.Equal(t, "when it returned", arrives+time.Second, time.Since(start))
				})
			}
			time.Sleep(1100 * time.Millisecond)
			g.end(nil)
			testkit.Check(t, <-leader)
			checks.Wait()
			g.wantRuns(t, [][]int{{0}})
		})
	}
}

// The context of a queued call may end before its goroutine notices.
func TestRunTakesNoCallThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := make(chan struct{})
		g := &group{}
		g.Group = batch.New(batch.Options{}, func(_ context.Context, _ time.Time, take func() []int) error {
			<-start
			cancel()
			g.record(take())
			return nil
		})
		leader, ended := g.do(t.Context(), 0), g.do(ctx, 1)
		start <- struct{}{}
		testkit.Check(t, <-leader)
		testkit.WantError(t, "the error of the call that has ended", <-ended, context.Canceled)
		g.wantRuns(t, [][]int{{0}})
	})
}

// With Leave, calls of a run return at their deadlines, too.
func TestCallOfARunTakesAtMostTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, start := newLongGroup(batch.Options{Leave: true, Timeout: time.Second}), time.Now()
		first, early := g.do(t.Context(), 0), g.do(t.Context(), 1)
		time.Sleep(200 * time.Millisecond)
		second := g.do(t.Context(), 2)
		time.Sleep(100 * time.Millisecond)
		newest := g.do(t.Context(), 3)
		g.end(nil) // 3 leads, with 1 and 2
		testkit.Check(t, <-first)
		testkit.WantError(t, "the error of a call of the run", <-early, context.DeadlineExceeded)
		testkit.Equal(t, "when it returned", time.Second, time.Since(start))
		testkit.WantError(t, "the error of the next one", <-second, context.DeadlineExceeded)
		testkit.Equal(t, "when it returned", 1200*time.Millisecond, time.Since(start))
		g.end(nil)
		testkit.Check(t, <-newest)
		g.wantRuns(t, [][]int{{0}, {3, 1, 2}})
	})
}

// A call of a run that its leader ended is queued again, perhaps behind a newer call for which the timer runs.
func TestCallThatIsQueuedAgainTakesAtMostTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, end, start := make(chan struct{}), make(chan error), time.Now()
		g := &group{Group: batch.New(batch.Options{Timeout: time.Second}, func(_ context.Context, _ time.Time, take func() []int) error {
			<-begun
			take()
			return <-end
		})}
		at := func(milliseconds time.Duration) { time.Sleep(milliseconds*time.Millisecond - time.Since(start)) }
		first := g.do(t.Context(), 0)
		begun <- struct{}{}
		at(200)
		leader := g.do(t.Context(), 1)
		at(400)
		other := g.do(t.Context(), 2)
		end <- nil
		testkit.Check(t, <-first)
		begun <- struct{}{} // 1 leads, with 2
		at(900)
		newest := g.do(t.Context(), 3)
		at(1300)
		end <- errors.New("failure") // 2 is queued again, 3 leads
		testkit.WantError(t, "the error of the leader", <-leader, context.DeadlineExceeded)
		testkit.WantError(t, "the error of the other call", <-other, context.DeadlineExceeded)
		testkit.Equal(t, "when it returned", 1400*time.Millisecond, time.Since(start))
		begun <- struct{}{}
		end <- nil
		testkit.Check(t, <-newest)
	})
}

// What waits until a deadline may return before the deadline of a context of its own.
func TestLeaderWhoseDeadlineHasPassedFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &group{}
		g.Group = batch.New(batch.Options{Timeout: time.Second}, func(_ context.Context, deadline time.Time, take func() []int) error {
			calls := take()
			g.record(calls)
			if calls[0] != 2 {
				time.Sleep(min(time.Until(deadline), 800*time.Millisecond))
			}
			return errors.New("failure")
		})
		first := g.do(t.Context(), 0)
		leader := g.do(t.Context(), 1)
		time.Sleep(500 * time.Millisecond)
		other := g.do(t.Context(), 2)
		testkit.WantMessage(t, "the error of the first call", <-first, "failure")
		testkit.WantError(t, "the error of the leader", <-leader, context.DeadlineExceeded)
		testkit.WantMessage(t, "the error of the other call", <-other, "failure")
		g.wantRuns(t, [][]int{{0}, {1, 2}, {2}})
	})
}

// A run may fail before it takes its calls, as a transaction that cannot begin.
func TestRunThatTookNoCallsFailsItsLeaderAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failure, release, runs := errors.New("failure"), make(chan struct{}), 0
		g := &group{}
		g.Group = batch.New(batch.Options{}, func(_ context.Context, _ time.Time, take func() []int) error {
			if runs++; runs == 1 {
				<-release
				return failure
			}
			g.record(take())
			return nil
		})
		leader, a, b := g.do(t.Context(), 0), g.do(t.Context(), 1), g.do(t.Context(), 2)
		close(release)
		testkit.WantError(t, "the error of the leader", <-leader, failure)
		testkit.Check(t, errors.Join(<-a, <-b))
		g.wantRuns(t, [][]int{{1, 2}})
	})
}

func TestPanicAndGoexitEndTheLeaderAndFailTheOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func()
		want []string // the result of the leader
	}{
		"panic":  {func() { panic("failure") }, []string{"panic: failure"}},
		"Goexit": {runtime.Goexit, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			g := &group{}
			g.Group = batch.New(batch.Options{}, func(_ context.Context, _ time.Time, take func() []int) error {
				<-release
				if values := take(); len(values) == 2 {
					test.end()
				}
				return nil
			})
			leader, other := g.do(t.Context(), 0), g.do(t.Context(), 1)
			close(release)
			var results []string
			for err := range leader {
				results = append(results, err.Error())
			}
			testkit.Equal(t, name+": the result of the leader", test.want, results)
			testkit.WantMessage(t, name+": the other caller", <-other, "panicked or exited")
			testkit.Check(t, g.Do(t.Context(), 2))
		})
	}
}

func TestCloseRejectsCallsAndWaitsForTheQueuedOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(batch.Options{})
		first, queued, closed := g.do(t.Context(), 0), g.do(t.Context(), 1), make(chan struct{})
		go func() {
			g.Close()
			close(closed)
		}()
		synctest.Wait()
		testkit.WantError(t, "Do after Close", g.Do(t.Context(), 2), batch.ErrClosed)
		g.end(nil)
		select {
		case <-closed:
			t.Error("Close has returned before the queued call has run")
		default:
		}
		g.end(nil)
		<-closed
		testkit.Check(t, errors.Join(<-first, <-queued))
		g.Close()
	})
}

// The tests below are not parallel: they run with one processor.

// If the leader did not yield, each goroutine that is ready to run would run alone, one after the other.
func TestGoroutinesThatAreReadyToRunShareARun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var runs atomic.Int32
	g := batch.New(batch.Options{}, func(_ context.Context, _ time.Time, take func() []int) error {
		take()
		runs.Add(1)
		return nil
	})
	start := make(chan struct{})
	var callers sync.WaitGroup
	for caller := range 64 {
		callers.Go(func() {
			<-start
			for range 10 {
				_ = g.Do(t.Context(), caller)
			}
		})
	}
	time.Sleep(10 * time.Millisecond) // until all goroutines wait
	close(start)
	callers.Wait()
	if n := runs.Load(); n > 80 {
		t.Errorf("got %d runs for 640 calls, want few", n)
	}
}

// With one processor, the context of the second caller ends before that caller finds that it is to lead.
func TestCallerThatIsToLeadDoesNotLeave(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ctx, cancel := context.WithCancel(t.Context())
	var g *batch.Group[int]
	g = batch.New(batch.Options{Leave: true}, func(_ context.Context, _ time.Time, take func() []int) error {
		if take()[0] == 0 {
			testkit.WaitUntil(t, "the second call is queued", func() bool { return g.Waiting() == 2 })
			time.Sleep(10 * time.Millisecond) // until its goroutine waits
			cancel()
		}
		return nil
	})
	go func() { _ = g.Do(t.Context(), 0) }()
	testkit.WaitUntil(t, "the first call runs", func() bool { return g.Waiting() == 1 })
	_ = g.Do(ctx, 1)
	soon, cancelSoon := context.WithTimeout(t.Context(), testkit.Scaled(10*time.Second))
	defer cancelSoon()
	testkit.Check(t, g.Do(soon, 2)) // without a leader it would wait
}

func TestCallerThatIsAloneYieldsAtMostOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	g := batch.New(batch.Options{Delay: time.Hour}, func(_ context.Context, _ time.Time, take func() []int) error {
		take()
		return nil
	})
	var turns, ended atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ended.Load() == 0 {
			turns.Add(1)
			runtime.Gosched()
		}
	}()
	before := turns.Load()
	for range 100 {
		testkit.Check(t, g.Do(t.Context(), 0))
	}
	yielded := turns.Load() - before
	ended.Store(1)
	<-done
	if yielded > 150 { // the scheduler interrupts some calls
		t.Errorf("a caller that is alone yielded %d times in 100 calls, want once in each", yielded)
	}
}
