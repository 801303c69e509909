package freshness_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
)

var errFailed = errors.New("failure")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A database is an engine.Database of which only PollChanges and PollInterval are used.
type database struct {
	engine.Database
	interval time.Duration
	changes  engine.Changes // what PollChanges returns
	err      error
	polls    int
}

func (d *database) PollChanges(context.Context) (engine.Changes, error) {
	d.polls++
	return d.changes, d.err
}

func (d *database) PollInterval() time.Duration { return d.interval }

// newVersions returns versions that are closed when the test ends.
func newVersions(t *testing.T, d database) (*freshness.Versions, *database) {
	t.Helper()
	v := freshness.New(&d, 0)
	t.Cleanup(v.Close)
	return v, &d
}

// increases returns which numbers fn increases.
func increases(v *freshness.Versions, fn func()) engine.Changes {
	added, changed := v.Lists()
	keys := v.Keys()
	fn()
	addedAfter, changedAfter := v.Lists()
	return engine.Changes{Added: addedAfter > added, Changed: changedAfter > changed, Keys: v.Keys() > keys}
}

// allChanges has no change, one change of each kind, and all changes at once.
var allChanges = []engine.Changes{{}, {Added: true}, {Changed: true}, {Keys: true}, engine.AllChanges}

// Until a commit has ended, its changes may or may not be visible, so no cache entry is fresh.
func TestNumbersOfAPolledDatabaseIncreaseWithEachLoadDuringACommit(t *testing.T) {
	t.Parallel()
	for _, changes := range allChanges {
		for interval, want := range map[time.Duration]engine.Changes{time.Hour: changes, 0: {}} {
			v, _ := newVersions(t, database{interval: interval})
			err := v.Commit(changes, func() error {
				for range 2 {
					testkit.Equal(t, fmt.Sprintf("increases during a commit of %+v", changes), want, increases(v, func() {}))
				}
				return errFailed
			})
			testkit.WantError(t, "the error", err, errFailed)
			testkit.Equal(t, fmt.Sprintf("increases after a commit of %+v", changes), engine.Changes{}, increases(v, func() {}))
		}
	}
}

func TestChangesOfOthersIncreaseTheNumbers(t *testing.T) {
	t.Parallel()
	for _, want := range allChanges {
		v, _ := newVersions(t, database{changes: want})
		testkit.Equal(t, "increases by Refresh", want, increases(v, func() { testkit.Check(t, v.Refresh(t.Context(), 0)) }))
	}
}

func TestPollsAreRepeatedAfterTheIntervalOfTheEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, d := newVersions(t, database{interval: 45 * time.Millisecond})
		want := func(name string, want int) {
			t.Helper()
			testkit.Check(t, v.Refresh(t.Context(), time.Hour))
			testkit.Equal(t, "the polls "+name, want, d.polls)
		}
		want("at first", 1)
		time.Sleep(44 * time.Millisecond) // of the clock of the test
		want("44 ms later", 1)
		time.Sleep(time.Millisecond)
		want("45 ms later", 2)
		want("again", 2)
		testkit.Equal(t, "MaxAge", 90*time.Millisecond, v.MaxAge(0))
	})
}

func TestQueryThatBeganWithinMaxAgeCounts(t *testing.T) {
	t.Parallel()
	v, d := newVersions(t, database{})
	for i, step := range []struct {
		maxAge    time.Duration
		err       error // the error of a poll
		wantPolls int
		want      error
	}{
		{time.Hour, errFailed, 1, errFailed},
		{time.Hour, nil, 2, nil}, // no poll has succeeded yet
		{time.Hour, errFailed, 2, nil},
		{0, errFailed, 3, errFailed},
		{time.Hour, errFailed, 3, nil}, // a poll has succeeded before
	} {
		d.err = step.err
		testkit.WantError(t, fmt.Sprint("step ", i), v.Refresh(t.Context(), step.maxAge), step.want)
		testkit.Equal(t, fmt.Sprintf("the queries after step %d", i), step.wantPolls, d.polls)
	}
}
