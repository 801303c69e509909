package freshness_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
	"example.com/petstore/repository/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A database is an engine.Database of which only PollChanges and ChecksBeforeRead are used.
type database struct {
	engine.Database
	poll             func(context.Context) (engine.Changes, error)
	checksBeforeRead bool
}

func (d database) PollChanges(ctx context.Context) (engine.Changes, error) { return d.poll(ctx) }

func (d database) ChecksBeforeRead() bool { return d.checksBeforeRead }

func none(context.Context) (engine.Changes, error) { return engine.Changes{}, nil }

// newVersions returns versions that are closed when the test ends.
func newVersions(t *testing.T, d database) *freshness.Versions {
	t.Helper()
	v := freshness.New(d)
	t.Cleanup(v.Close)
	return v
}

// increases returns which numbers fn increases.
func increases(v *freshness.Versions, fn func()) engine.Changes {
	added, changed := v.Lists()
	keys := v.Keys()
	fn()
	addedAfter, changedAfter := v.Lists()
	return engine.Changes{Added: addedAfter > added, Changed: changedAfter > changed, Keys: v.Keys() > keys}
}

// allChanges are each kind of change, none and all.
var allChanges = []engine.Changes{{}, {Added: true}, {Changed: true}, {Keys: true}, engine.AllChanges}

// Nobody knows when the changes become visible: until the commit has ended, no entry of a cache is fresh.
func TestNumbersOfAPolledDatabaseIncreaseWithEachLoadDuringACommit(t *testing.T) {
	t.Parallel()
	for _, changes := range allChanges {
		for checksBeforeRead, want := range map[bool]engine.Changes{false: changes, true: {}} {
			v := newVersions(t, database{poll: none, checksBeforeRead: checksBeforeRead})
			failure := errors.New("failure")
			err := v.Commit(changes, func() error {
				for range 2 {
					storetest.Equal(t, fmt.Sprintf("increases during a commit of %+v", changes), want, increases(v, func() {}))
				}
				return failure
			})
			storetest.WantError(t, "the error", err, failure)
			storetest.Equal(t, fmt.Sprintf("increases after a commit of %+v", changes), engine.Changes{}, increases(v, func() {}))
		}
	}
}

func TestChangesOfOthersIncreaseTheNumbers(t *testing.T) {
	t.Parallel()
	for _, want := range allChanges {
		poll := func(context.Context) (engine.Changes, error) { return want, nil }
		refreshed := newVersions(t, database{poll: poll, checksBeforeRead: true})
		polled := newVersions(t, database{poll: poll})
		for name, got := range map[string]engine.Changes{
			"Refresh": increases(refreshed, func() { storetest.Check(t, refreshed.Refresh(t.Context(), 0)) }),
			"Poll":    increases(polled, func() { storetest.Check(t, polled.Poll()) }),
		} {
			storetest.Equal(t, "the numbers that increased by "+name, want, got)
		}
	}
}

func TestFailedPollIncreasesAllNumbers(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	v := newVersions(t, database{poll: func(context.Context) (engine.Changes, error) { return engine.Changes{}, failure }})
	got := increases(v, func() {
		storetest.WantError(t, "Poll", v.Poll(), failure)
	})
	storetest.Equal(t, "increases", engine.AllChanges, got)
}

// Nobody can poll during a slow checkpoint, but other processes can commit.
func TestNumbersIncreaseWhileNobodyPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVersions(t, database{poll: none})
		want := func(name string, want engine.Changes) {
			t.Helper()
			storetest.Equal(t, name, want, increases(v, func() { storetest.Check(t, v.Refresh(t.Context(), 0)) }))
		}
		want("before the first poll", engine.AllChanges)
		storetest.Check(t, v.Poll())
		time.Sleep(89 * time.Millisecond) // of the clock of the test
		want("89 ms after a poll", engine.Changes{})
		time.Sleep(time.Millisecond)
		want("90 ms after a poll", engine.AllChanges)
		want("again", engine.Changes{}) // an entry since then is not older
		time.Sleep(90 * time.Millisecond)
		want("90 ms later", engine.AllChanges)
		storetest.Equal(t, "MaxAge", 90*time.Millisecond, v.MaxAge(0))
	})
}

func TestQueryThatBeganWithinMaxAgeCounts(t *testing.T) {
	t.Parallel()
	queries := 0
	failure := errors.New("failure")
	var result error
	v := newVersions(t, database{checksBeforeRead: true, poll: func(context.Context) (engine.Changes, error) {
		queries++
		return engine.Changes{}, result
	}})
	for i, step := range []struct {
		maxAge      time.Duration
		result      error // of a query
		wantQueries int
		want        error
	}{
		{time.Hour, failure, 1, failure},
		{time.Hour, nil, 2, nil}, // none has succeeded yet
		{time.Hour, failure, 2, nil},
		{0, failure, 3, failure},
		{time.Hour, failure, 3, nil}, // one has succeeded before
	} {
		result = step.result
		storetest.WantError(t, fmt.Sprint("step ", i), v.Refresh(t.Context(), step.maxAge), step.want)
		storetest.Equal(t, fmt.Sprintf("the queries after step %d", i), step.wantQueries, queries)
	}
}
