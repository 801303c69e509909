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

var errFailed = errors.New("failure")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A database is an engine.Database of which only PollChanges and ChecksBeforeRead are used.
type database struct {
	engine.Database
	checksBeforeRead bool
	changes          engine.Changes // that PollChanges returns
	err              error
	polls            int
}

func (d *database) PollChanges(context.Context) (engine.Changes, error) {
	d.polls++
	return d.changes, d.err
}

func (d *database) ChecksBeforeRead() bool { return d.checksBeforeRead }

// newVersions returns versions that are closed when the test ends.
func newVersions(t *testing.T, d database) (*freshness.Versions, *database) {
	t.Helper()
	v := freshness.New(&d)
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

// allChanges are each kind of change, none and all.
var allChanges = []engine.Changes{{}, {Added: true}, {Changed: true}, {Keys: true}, engine.AllChanges}

// Nobody knows when the changes become visible: until the commit has ended, no entry of a cache is fresh.
func TestNumbersOfAPolledDatabaseIncreaseWithEachLoadDuringACommit(t *testing.T) {
	t.Parallel()
	for _, changes := range allChanges {
		for checksBeforeRead, want := range map[bool]engine.Changes{false: changes, true: {}} {
			v, _ := newVersions(t, database{checksBeforeRead: checksBeforeRead})
			err := v.Commit(changes, func() error {
				for range 2 {
					storetest.Equal(t, fmt.Sprintf("increases during a commit of %+v", changes), want, increases(v, func() {}))
				}
				return errFailed
			})
			storetest.WantError(t, "the error", err, errFailed)
			storetest.Equal(t, fmt.Sprintf("increases after a commit of %+v", changes), engine.Changes{}, increases(v, func() {}))
		}
	}
}

func TestChangesOfOthersIncreaseTheNumbers(t *testing.T) {
	t.Parallel()
	for _, want := range allChanges {
		v, _ := newVersions(t, database{changes: want, checksBeforeRead: true})
		storetest.Equal(t, "increases by Refresh", want, increases(v, func() { storetest.Check(t, v.Refresh(t.Context(), 0)) }))
		v, d := newVersions(t, database{changes: want})
		storetest.Equal(t, "increases by Poll", want, increases(v, func() { storetest.Check(t, v.Poll()) }))
		d.err = errFailed
		got := increases(v, func() { storetest.WantError(t, "Poll", v.Poll(), errFailed) })
		storetest.Equal(t, "increases by a Poll that fails", engine.AllChanges, got)
	}
}

// Nobody can poll during a slow checkpoint, but other processes can commit.
func TestNumbersIncreaseWhileNobodyPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, _ := newVersions(t, database{})
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
	v, d := newVersions(t, database{checksBeforeRead: true})
	for i, step := range []struct {
		maxAge    time.Duration
		err       error // of a query
		wantPolls int
		want      error
	}{
		{time.Hour, errFailed, 1, errFailed},
		{time.Hour, nil, 2, nil}, // none has succeeded yet
		{time.Hour, errFailed, 2, nil},
		{0, errFailed, 3, errFailed},
		{time.Hour, errFailed, 3, nil}, // one has succeeded before
	} {
		d.err = step.err
		storetest.WantError(t, fmt.Sprint("step ", i), v.Refresh(t.Context(), step.maxAge), step.want)
		storetest.Equal(t, fmt.Sprintf("the queries after step %d", i), step.wantPolls, d.polls)
	}
}
