package freshness_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/freshness"
	"example.com/petstore/internal/test/testkit"
)

var errFailed = errors.New("failure")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const interval = engine.PollInterval

// A database is an engine.Database of which only what the numbers need is used.
type database struct {
	engine.Database
	local  bool
	found  engine.State // what Poll returns
	others bool
	err    error
	polls  int
}

func (d *database) Poll(context.Context) (engine.State, bool, error) {
	d.polls++
	return d.found, d.others, d.err
}

func (d *database) IsRemote() bool { return !d.local }

// newChecker returns a Checker that is closed when the test ends.
func newChecker(t *testing.T, d database) (*freshness.Checker, *database) {
	t.Helper()
	n := freshness.New(&d, time.Second, true)
	t.Cleanup(n.Close)
	return n, &d
}

func wantNow(t *testing.T, what string, n *freshness.Checker, want domain.Numbers) {
	t.Helper()
	got, err := n.Now(t.Context())
	testkit.Equal(t, what, want, got, err)
}

func TestDatabaseIsPolledOnceInAnInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		local bool
		want  [4]int
	}{
		{true, [4]int{1, 1, 2, 2}},
		{false, [4]int{1, 2, 3, 4}},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, d := newChecker(t, database{local: c.local, found: engine.State{Position: 7, Altered: 5}})
			var polls [4]int
			for i, after := range []time.Duration{0, interval - 1, 1, 0} {
				time.Sleep(after) // of the clock of the test
				wantNow(t, "the numbers", n, domain.Numbers{Position: 7, Altered: 5})
				polls[i] = d.polls
			}
			testkit.Equal(t, "the polls", c.want, polls)
		})
	}
}

func TestAgeCountsFromTheLastPollThatSucceeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, d := newChecker(t, database{found: engine.State{Position: 7}})
		wantNow(t, "the numbers", n, domain.Numbers{Position: 7})
		time.Sleep(interval)
		d.found, d.err = engine.State{Position: 8}, errFailed
		got, err := n.Now(t.Context())
		testkit.WantError(t, "the error", err, errFailed)
		testkit.Equal(t, "the last known numbers", domain.Numbers{Position: 7}, got)
		testkit.Equal(t, "the age", interval, n.Age())
	})
}

func TestCommitsOfOthersRaiseTheGeneration(t *testing.T) {
	t.Parallel()
	n, _ := newChecker(t, database{others: true})
	wantNow(t, "the numbers", n, domain.Numbers{Generation: 1})
	wantNow(t, "the numbers after a second poll", n, domain.Numbers{Generation: 2})
}

func TestCommitIsInTheNumbers(t *testing.T) {
	t.Parallel()
	before := engine.State{Position: 7, Altered: 5}
	known := domain.Numbers{Position: 7, Altered: 5}
	for _, c := range []struct {
		name          string
		after         engine.State
		err           error
		during, ended domain.Numbers
	}{
		{
			"an addition",
			engine.State{Position: 8, Altered: 5},
			nil,
			domain.Numbers{Position: 7, Altered: 5, Adding: true},
			domain.Numbers{Position: 8, Altered: 5},
		},
		{
			"an alteration",
			engine.State{Position: 8, Altered: 8},
			nil,
			domain.Numbers{Position: 7, Altered: 5, Adding: true, Altering: true},
			domain.Numbers{Position: 8, Altered: 8},
		},
		{
			"a repair",
			engine.State{Position: 7, Altered: 8},
			nil,
			domain.Numbers{Position: 7, Altered: 5, Adding: true, Altering: true},
			domain.Numbers{Position: 7, Altered: 8},
		},
		{
			"a commit that failed",
			engine.State{Position: 8, Altered: 5},
			errFailed,
			domain.Numbers{Position: 7, Altered: 5, Adding: true},
			domain.Numbers{Position: 7, Altered: 5, Generation: 1},
		},
		{"no change", engine.State{Position: 7, Altered: 5, LastKey: 1}, nil, known, known},
		{"no change that failed", engine.State{Position: 7, Altered: 5, LastKey: 1}, errFailed, known, known},
	} {
		synctest.Test(t, func(t *testing.T) { // in no time, so that the interval does not end
			n, d := newChecker(t, database{local: true, found: before})
			wantNow(t, "the numbers before "+c.name, n, known)
			err := n.Commit(before, c.after, func() error {
				wantNow(t, "the numbers during "+c.name, n, c.during)
				return c.err
			})
			testkit.WantError(t, "the error of "+c.name, err, c.err)
			polls := d.polls
			wantNow(t, "the numbers after "+c.name, n, c.ended)
			wantPolls := polls
			if c.ended.Generation > 0 { // the commit may be durable
				wantPolls++
			}
			testkit.Equal(t, "the polls after "+c.name, wantPolls, d.polls)
		})
	}
}

func TestCommitThatPanicsRaisesTheGeneration(t *testing.T) {
	t.Parallel()
	n, _ := newChecker(t, database{local: true})
	func() {
		defer func() { _ = recover() }()
		_ = n.Commit(engine.State{}, engine.State{Position: 1}, func() error { panic(errFailed) })
	}()
	wantNow(t, "the numbers", n, domain.Numbers{Generation: 1})
}

// A check that overlaps a commit may have read the numbers before it, or a later commit of another process.
func TestNumbersNeverFall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, d := newChecker(t, database{local: true, found: engine.State{Position: 7, Altered: 7}})
		testkit.Check(t, n.Commit(engine.State{Position: 7, Altered: 7}, engine.State{Position: 8, Altered: 8}, func() error { return nil }))
		wantNow(t, "the numbers after an old poll", n, domain.Numbers{Position: 8, Altered: 8})
		time.Sleep(interval)
		testkit.Check(t, n.Commit(engine.State{Position: 8, Altered: 8}, engine.State{Position: 9, Altered: 9}, func() error {
			d.found = engine.State{Position: 10, Altered: 10}
			_, err := n.Now(t.Context())
			return err
		}))
		wantNow(t, "the numbers after a new poll", n, domain.Numbers{Position: 10, Altered: 10})
	})
}

// After a failover, a server may have lost commits.
func TestNumbersOfAServerMayFall(t *testing.T) {
	t.Parallel()
	n, d := newChecker(t, database{found: engine.State{Position: 7, Altered: 5}})
	wantNow(t, "the numbers", n, domain.Numbers{Position: 7, Altered: 5})
	d.found, d.others = engine.State{Position: 6, Altered: 4}, true
	wantNow(t, "the numbers after a failover", n, domain.Numbers{Position: 6, Altered: 4, Generation: 1})
}

// A hangingDatabase responds while hangs is false.
type hangingDatabase struct {
	database
	hangs atomic.Bool
}

func (d *hangingDatabase) Poll(ctx context.Context) (engine.State, bool, error) {
	if d.hangs.Load() {
		<-ctx.Done()
		return engine.State{}, false, ctx.Err()
	}
	return engine.State{Position: 7}, false, nil
}

func TestOnlyOneCallerWaitsForADatabaseThatHangs(t *testing.T) {
	t.Parallel()
	for patient, want := range map[bool]time.Duration{true: 10 * time.Second, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			d := &hangingDatabase{}
			n := freshness.New(d, time.Second, patient)
			defer n.Close()
			d.hangs.Store(true)
			wait := func() (took time.Duration, err error) {
				start := time.Now()
				_, err = n.Now(t.Context())
				return time.Since(start), err
			}
			took, err := wait()
			testkit.WantError(t, "the first call", err, context.DeadlineExceeded)
			testkit.Equal(t, "how long the first call waited", time.Second, took)
			waited := time.Duration(0)
			for range 10 {
				time.Sleep(500 * time.Millisecond)
				took, err := wait()
				testkit.WantError(t, "a later call", err, context.DeadlineExceeded)
				waited += took
			}
			testkit.Equal(t, "how long later calls waited", want, waited)
			d.hangs.Store(false)
			time.Sleep(4 * time.Second) // nothing is known after a time without requests
			took, err = wait()
			testkit.Equal(t, "how long a call waited for the database that is back", time.Duration(0), took, err)
		})
	}
}

// Callers that give up early must not make the others wait for one check after the other.
func TestCallTakesAtMostTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &hangingDatabase{}
		n := freshness.New(d, time.Second, true)
		defer n.Close()
		d.hangs.Store(true)
		var callers sync.WaitGroup
		defer callers.Wait()
		for range 30 {
			callers.Go(func() {
				impatient, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				_, _ = n.Now(impatient)
			})
			callers.Go(func() {
				start := time.Now()
				_, err := n.Now(t.Context())
				testkit.WantError(t, "Now", err, context.DeadlineExceeded)
				testkit.Equal(t, "how long Now took", time.Second, time.Since(start))
			})
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// A slowDatabase responds after 600 ms.
type slowDatabase struct {
	database
	cut atomic.Int64 // how many calls of Poll ended before
}

func (d *slowDatabase) Poll(ctx context.Context) (engine.State, bool, error) {
	select {
	case <-ctx.Done():
		d.cut.Add(1)
	case <-time.After(600 * time.Millisecond):
	}
	return engine.State{}, false, ctx.Err()
}

// A check that is cut off closes its connection, and empties the caches.
func TestCheckIsNotCutOffByCallersWhoHaveWaitedLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &slowDatabase{}
		n := freshness.New(d, time.Second, true)
		defer n.Close()
		var callers sync.WaitGroup
		defer callers.Wait()
		for range 100 {
			callers.Go(func() { _, _ = n.Now(t.Context()) })
			time.Sleep(50 * time.Millisecond)
		}
		testkit.Equal(t, "the checks that were cut off", int64(0), d.cut.Load())
	})
}

func TestDatabaseThatIsBackIsUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &hangingDatabase{}
		n := freshness.New(d, time.Second, false)
		defer n.Close()
		d.hangs.Store(true)
		_, err := n.Now(t.Context())
		testkit.WantError(t, "while it hangs", err, context.DeadlineExceeded)
		d.hangs.Store(false)
		_, err = n.Now(t.Context())
		testkit.WantError(t, "the call that begins a check", err, context.DeadlineExceeded)
		synctest.Wait()
		wantNow(t, "the numbers", n, domain.Numbers{Position: 7})
		testkit.Equal(t, "Failed", nil, n.Failed())
	})
}
