package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// Follow also passes the changes of other processes, and changes that are made with InTx, such as the changes of an
// import.
func TestFollowPassesTheChangesOfAllProcessesInOrder(t *testing.T) {
	t.Parallel()
	store := newEngine(t)
	service := newService(t, store, petstore.Options{})
	other, err := repository.Open(t.Context(), store, repository.Options{}) // as a command does
	testkit.Check(t, err)
	t.Cleanup(func() { testkit.Check(t, other.Close()) })
	rex := domain.NewPet{Name: "Rex", CategoryID: 7}
	for i := range 2 {
		pet, replayed, err := service.Pets().Create(t.Context(), rex, domain.IdempotencyKey{Caller: "delivery", Value: "1"})
		testkit.Equal(t, "Create", rex.WithID(1), pet, err)
		testkit.Equal(t, "replayed", i == 1, replayed)
	}
	testkit.Check(t, other.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, slices.Repeat([]domain.NewPet{rex}, 150)) // more animals than a page has
		return err
	}))
	var changes []domain.Change
	full := errors.New("full")
	follow := func(after int64, n int) error {
		changes = nil
		return service.Follow(t.Context(), after, func(ctx context.Context, change domain.Change) error {
			if changes = append(changes, change); len(changes) == 151 { // the other process adds while Follow runs
				_, _, err := usecase.NewOrders(other, other.Orders(), usecase.Now).Place(ctx, 7, domain.IdempotencyKey{})
				testkit.Check(t, err)
			}
			if len(changes) == n {
				return full
			}
			return nil
		})
	}
	if err := follow(0, 152); !errors.Is(err, full) {
		t.Errorf("got %v, want the error of fn", err)
	}
	for i, change := range changes[:151] {
		if change.Type != domain.ChangePetAdded || change.Pet.ID != int64(i+1) {
			t.Fatalf("got %+v as change %d, want that the animal %d was added", change, i, i+1)
		}
	}
	position := changes[150].Seq
	last, err := service.Changes().Latest(t.Context())
	testkit.Equal(t, "Latest", position+2, last, err)
	err = follow(position, 2)
	if !errors.Is(err, full) || changes[0].Type != domain.ChangePetUpdated || changes[1].Type != domain.ChangeOrderPlaced || changes[1].Seq != last {
		t.Errorf("from a position: got %v and %+v, want the two changes of the order", err, changes)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = service.Follow(ctx, last, func(_ context.Context, change domain.Change) error { return fmt.Errorf("unexpected %+v", change) })
	testkit.WantError(t, "Follow without changes", err, context.DeadlineExceeded)
}

func TestFollowPassesWhoMadeAChangeAndTheAnimalBefore(t *testing.T) {
	t.Parallel()
	service := newService(t, newEngine(t), petstore.Options{})
	begin, err := service.Changes().Latest(t.Context())
	testkit.Check(t, err)
	rex, _, err := service.Pets().Create(t.Context(), domain.NewPet{Name: "Rex", CategoryID: 7}, domain.IdempotencyKey{})
	testkit.Check(t, err)
	corrected, _, err := service.Pets().Update(domain.WithCaller(t.Context(), "user:ann"), rex.ID, domain.PetPatch{Name: new("Rex II")}, nil)
	testkit.Check(t, err)
	var got domain.Change
	correction := errors.New("a correction")
	err = service.Follow(t.Context(), begin, func(_ context.Context, change domain.Change) error {
		if got = change; change.Before != nil {
			return correction
		}
		return nil
	})
	testkit.WantError(t, "Follow", err, correction)
	got.At = time.Time{}
	testkit.Equal(t, "the change", domain.Change{
		ChangeHeader:   domain.ChangeHeader{Seq: begin + 2, Type: domain.ChangePetUpdated, Caller: "user:ann"},
		ChangedRecords: domain.ChangedRecords{Pet: &corrected, Before: &rex},
	}, got)
}

func TestFollowPassesTheNamesOfCategories(t *testing.T) {
	t.Parallel()
	service := newService(t, newEngine(t), petstore.Options{})
	dogs := domain.Category{ID: -7, Name: "Dogs"}
	named, changed, err := service.Categories().Put(domain.WithCaller(t.Context(), "user:ann"), dogs)
	testkit.Equal(t, "the category", dogs, named.Category, err)
	testkit.Equal(t, "whether the name changed", true, changed)
	testkit.Check(t, service.Categories().Delete(t.Context(), dogs.ID))
	var got []domain.Change
	both := errors.New("both changes")
	err = service.Follow(t.Context(), 0, func(_ context.Context, change domain.Change) error {
		change.Seq, change.At = 0, time.Time{}
		if got = append(got, change); len(got) == 2 {
			return both
		}
		return nil
	})
	testkit.WantError(t, "Follow", err, both)
	records := domain.ChangedRecords{Category: &dogs}
	testkit.Equal(t, "the changes", []domain.Change{
		{ChangeHeader: domain.ChangeHeader{Type: domain.ChangeCategoryNamed, Caller: "user:ann"}, ChangedRecords: records},
		{ChangeHeader: domain.ChangeHeader{Type: domain.ChangeCategoryRemoved}, ChangedRecords: records},
	}, got)
}

func TestFollowEndsAtAPositionWhoseChangesAreNotKept(t *testing.T) {
	t.Parallel()
	store := newEngine(t)
	synctest.Test(t, func(t *testing.T) {
		var ago atomic.Int64
		ago.Store(int64(8 * 24 * time.Hour)) // a day longer than changes are kept
		core, log := observer.New(zap.InfoLevel)
		service := newService(t, store, petstore.Options{
			Now: func() time.Time { return time.Now().Add(-time.Duration(ago.Load())) }, API: rest.Options{Logger: zap.New(core)},
		})
		begin, err := service.Changes().Latest(t.Context())
		testkit.Check(t, err)
		for range 25 {
			_, _, err := service.Pets().CreateAll(t.Context(), slices.Repeat([]domain.NewPet{{Name: "Rex"}}, 100), domain.IdempotencyKey{})
			testkit.Check(t, err)
		}
		synctest.Wait()
		ago.Store(0)
		time.Sleep(61 * time.Second) // old changes are removed each minute
		for _, after := range []int64{1, begin, begin + 999, begin + 2501} {
			err := service.Follow(t.Context(), after, func(context.Context, domain.Change) error { return errors.New("a change") })
			if err == nil || err.Error() != domain.ChangesExpired(after).Error() {
				t.Errorf("Follow after begin%+d: got %v, want that its position has expired", after-begin, err)
			}
		}
		for _, after := range []int64{0, begin + 1000} { // the oldest change that is kept
			first := errors.New("first")
			err := service.Follow(t.Context(), after, func(_ context.Context, change domain.Change) error {
				testkit.Equal(t, "the first change", begin+1001, change.Seq)
				return first
			})
			testkit.WantError(t, "Follow", err, first)
		}
		testkit.Equal(t, "the lines about outages", 0, log.FilterMessageSnippet("Follow").Len())
	})
}

// An awayEngine opens a database whose numbers cannot be read while it is away.
type awayEngine struct {
	engine.Engine
	away *atomic.Bool
}

func (e awayEngine) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	database, err := e.Engine.Open(ctx, o)
	return awayDatabase{database, e.away}, err
}

type awayDatabase struct {
	engine.Database
	away *atomic.Bool
}

func (d awayDatabase) Poll(ctx context.Context) (engine.State, bool, error) {
	if d.away.Load() {
		return engine.State{}, false, errors.New("no connection")
	}
	return d.Database.Poll(ctx)
}

func TestFollowReportsHowFarItIsBehindAndOutages(t *testing.T) {
	t.Parallel()
	core, log := observer.New(zap.InfoLevel)
	registry := prometheus.NewRegistry()
	var away atomic.Bool
	store := awayEngine{newEngine(t), &away}
	synctest.Test(t, func(t *testing.T) {
		service := newService(t, store, petstore.Options{API: rest.Options{Metrics: registry, Logger: zap.New(core)}})
		after := func(d time.Duration, wantLag float64, wantLogged ...string) { // the tolerance is longer than the interval of Follow
			t.Helper()
			time.Sleep(d)
			if lag, running := followLag(t, registry); !running || lag < wantLag || lag > wantLag+2.5 {
				t.Errorf("got the lag %v of a Follow that runs: %t, want about %v s", lag, running, wantLag)
			}
			var logged []string
			for _, entry := range log.FilterMessageSnippet("Follow").All() {
				logged = append(logged, entry.Message)
			}
			testkit.Equal(t, "the log", wantLogged, logged)
		}
		add := func() {
			_, _, err := service.Pets().Create(t.Context(), domain.NewPet{Name: "Rex"}, domain.IdempotencyKey{})
			testkit.Check(t, err)
		}
		if lag, running := followLag(t, registry); running {
			t.Errorf("before Follow: got the lag %v, want none", lag)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		add()
		time.Sleep(time.Minute)
		go func() {
			ended <- service.Follow(ctx, 0, func(context.Context, domain.Change) error { time.Sleep(time.Minute); return nil })
		}()
		after(30*time.Second, 90) // the age of the change that fn handles
		after(31*time.Second, 0)
		const waits, continues = "Follow waits until the store is available", "Follow continues"
		away.Store(true)
		after(40*time.Second, 40, waits)
		away.Store(false)
		after(3*time.Second, 0, waits, continues)
		took, _ := log.FilterMessage(continues).All()[0].ContextMap()["after"].(time.Duration)
		if took < 39*time.Second || took > 43*time.Second {
			t.Errorf("got an outage of %s, want 40 s", took)
		}
		stop()
		testkit.WantError(t, "Follow", <-ended, context.Canceled)
		if lag, running := followLag(t, registry); running {
			t.Errorf("after Follow: got the lag %v, want none", lag)
		}
	})
}

// followLag returns the metric of Follow, and whether there is one.
func followLag(t *testing.T, registry *prometheus.Registry) (lag float64, running bool) {
	t.Helper()
	families, err := registry.Gather()
	testkit.Check(t, err)
	for _, family := range families {
		if family.GetName() == "petstore_changes_follow_lag_seconds" {
			return family.GetMetric()[0].GetGauge().GetValue(), true
		}
	}
	return 0, false
}
