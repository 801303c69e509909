package freshness_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
	"example.com/petstore/repository/sharedquery"
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

func TestCommitIncreasesTheNumbersOfItsChanges(t *testing.T) {
	t.Parallel()
	v := newVersions(t, database{poll: none, checksBeforeRead: true}) // without watchPolls
	for _, want := range allChanges {
		if diff := cmp.Diff(want, increases(v, func() { v.Committed(want) })); diff != "" {
			t.Errorf("the numbers that increased (-want +got)\n%s", diff)
		}
	}
}

func TestChangesOfOthersIncreaseTheNumbers(t *testing.T) {
	t.Parallel()
	for _, want := range allChanges {
		v := newVersions(t, database{
			poll:             func(context.Context) (engine.Changes, error) { return want, nil },
			checksBeforeRead: true,
		})
		got := increases(v, func() {
			if err := v.Refresh(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the numbers that Refresh increased (-want +got)\n%s", diff)
		}
	}
	// watchPolls may increase the numbers, too.
	v := newVersions(t, database{poll: func(context.Context) (engine.Changes, error) { return engine.AllChanges, nil }})
	got := increases(v, func() {
		if err := v.Poll(); err != nil {
			t.Error(err)
		}
	})
	if got != engine.AllChanges {
		t.Errorf("Poll increased %+v, want all numbers", got)
	}
}

func TestFailedPollIncreasesAllNumbers(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	v := newVersions(t, database{poll: func(context.Context) (engine.Changes, error) { return engine.Changes{}, failure }})
	got := increases(v, func() {
		if err := v.Poll(); !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
	})
	if got != engine.AllChanges {
		t.Errorf("got increases of %+v, want all", got)
	}
}

// Refresh and Poll never both call PollChanges.
func TestOnlyOneOfRefreshAndPollUsesTheDatabase(t *testing.T) {
	t.Parallel()
	unwanted := func(context.Context) (engine.Changes, error) {
		t.Error("PollChanges was called")
		return engine.Changes{}, nil
	}
	if err := newVersions(t, database{poll: unwanted, checksBeforeRead: true}).Poll(); err != nil {
		t.Error(err)
	}
	if err := newVersions(t, database{poll: unwanted}).Refresh(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// The goroutines have ended, see TestMain.
func TestCloseInterruptsTheQuery(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	var once sync.Once
	v := freshness.New(database{checksBeforeRead: true, poll: func(ctx context.Context) (engine.Changes, error) {
		once.Do(func() { close(began) })
		<-ctx.Done()
		return engine.Changes{}, ctx.Err()
	}})
	refreshed := make(chan error)
	go func() { refreshed <- v.Refresh(context.WithoutCancel(t.Context()), 0) }()
	<-began
	v.Close()
	if err := <-refreshed; !errors.Is(err, sharedquery.ErrClosed) {
		t.Errorf("Refresh during Close: got %v, want %v", err, sharedquery.ErrClosed)
	}
	v.Close()
	if err := v.Refresh(t.Context(), 0); !errors.Is(err, sharedquery.ErrClosed) {
		t.Errorf("Refresh after Close: got %v, want %v", err, sharedquery.ErrClosed)
	}
	watching := freshness.New(database{poll: none})
	watching.Close()
	watching.Close()
}

// waitUntil waits until a condition holds, for 5 seconds at most.
func waitUntil(t *testing.T, name string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for !condition() {
		if ctx.Err() != nil {
			t.Fatalf("timed out waiting until %s", name)
		}
		runtime.Gosched()
	}
}
