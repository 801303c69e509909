package repository_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

var onePerPage = domain.PageRequest{Limit: 1}

// calls has reads of pets, orders and keys, and InTx and Ping, by name.
var calls = map[string]func(context.Context, *repository.Store) error{
	"pets.Get": func(ctx context.Context, s *repository.Store) error { _, err := s.Pets().Get(ctx, 1); return err },
	"pets.List": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Pets().List(ctx, domain.PetQuery{PageRequest: onePerPage})
		return err
	},
	"pets.List of a search": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Pets().List(ctx, domain.PetQuery{PageRequest: onePerPage, Text: "rex"})
		return err
	},
	"pets.Count": func(ctx context.Context, s *repository.Store) error { _, err := s.Pets().Count(ctx, ""); return err },
	"pets.Each": func(ctx context.Context, s *repository.Store) error {
		return s.Pets().Each(ctx, "", func(domain.Pet) error { return nil })
	},
	"orders.Get": func(ctx context.Context, s *repository.Store) error { _, err := s.Orders().Get(ctx, 1); return err },
	"orders.List": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Orders().List(ctx, domain.OrderQuery{PageRequest: onePerPage})
		return err
	},
	"orders.Count": func(ctx context.Context, s *repository.Store) error { _, err := s.Orders().Count(ctx, ""); return err },
	"orders.Each": func(ctx context.Context, s *repository.Store) error {
		return s.Orders().Each(ctx, "", func(domain.Order) error { return nil })
	},
	"pets.Inventory": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Pets().Inventory(ctx, nil)
		return err
	},
	"categories.List": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Categories().List(ctx, domain.CategoryQuery{Limit: 1})
		return err
	},
	"changes.List": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Changes().List(ctx, onePerPage)
		return err
	},
	"changes.Latest": func(ctx context.Context, s *repository.Store) error { _, err := s.Changes().Latest(ctx); return err },
	"keys.List":      func(ctx context.Context, s *repository.Store) error { _, err := s.Keys().List(ctx); return err },
	"keys.FindByHash": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Keys().FindByHash(ctx, apikey.Hash{})
		return err
	},
	"InTx": func(ctx context.Context, s *repository.Store) error { return s.InTx(ctx, executing("SELECT 1")) },
	"Ping": func(ctx context.Context, s *repository.Store) error { return s.Ping(ctx) },
}

// A call that kept its connection would make later ones wait for ever.
func TestEveryReadReleasesItsConnection(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	store, other := open(t, e, repository.Options{}), open(t, e, repository.Options{})
	released := func(name string, err error) {
		t.Helper()
		if !store.TryAcquireReadSlots(maxOpenConns) {
			t.Fatalf("%s returned %v and kept its connection", name, err)
		}
		store.ReleaseReadSlots(maxOpenConns)
	}
	callAll := func(want func(error) bool) {
		t.Helper()
		for name, call := range calls {
			err := call(t.Context(), store)
			released(name, err)
			if !want(err) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
	foundOrNot := func(err error) bool {
		return err == nil || errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrUnauthenticated)
	}
	callAll(foundOrNot) // without records
	inTx(t, other, adding("Rex"))
	callAll(foundOrNot)
	failure := errors.New("failure")
	released("Each that its function stops", store.Pets().Each(t.Context(), "", func(domain.Pet) error { return failure }))
	func() {
		defer func() { _ = recover() }()
		_ = store.Pets().Each(t.Context(), "", func(domain.Pet) error { panic(failure) })
	}()
	released("Each whose function panics", failure)
	inTx(t, other, executing("ALTER TABLE pets RENAME TO pets_renamed"))
	_, err := store.Pets().Get(t.Context(), 1)
	released("Get without its table", err)
	if err == nil {
		t.Error("Get without its table: got no error")
	}
	check(t, store.Close())
	callAll(func(err error) bool { return errors.Is(err, domain.ErrUnavailable) })
}

// counter returns the value of a counter of a store.
func counter(t *testing.T, s *repository.Store, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Collectors()...)
	families, err := registry.Gather()
	check(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

func TestReadsThatWaitForAConnectionAreCounted(t *testing.T) {
	t.Parallel()
	const waits, seconds, reads = "petstore_store_read_waits_total", "petstore_store_read_wait_seconds_total", 50
	s := open(t, newEngine(t), repository.Options{})
	inTx(t, s, adding("Rex"))
	_, err := s.Pets().Get(t.Context(), 1)
	testkit.Equal(t, waits, 0.0, counter(t, s, waits), err)
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns)) // as four slow reads
	start := time.Now()
	var waiting sync.WaitGroup
	for range reads {
		waiting.Go(func() {
			_, err := s.Pets().Get(t.Context(), 1)
			testkit.Check(t, err)
		})
	}
	testkit.WaitUntil(t, "all reads wait", func() bool { return counter(t, s, waits) == reads })
	s.ReleaseReadSlots(maxOpenConns)
	waiting.Wait()
	if got, most := counter(t, s, seconds), reads*time.Since(start).Seconds(); got <= 0 || got > most {
		t.Errorf("got %s %f, want more than 0 and at most %f", seconds, got, most)
	}
}

// With StaleIfUnavailable, look-ups of keys wait for a shorter time than other reads, and are counted with them.
func TestLookupsOfKeysThatWaitAreCounted(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{StaleIfUnavailable: time.Hour})
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns))
	result := make(chan error, 1)
	go func() {
		_, err := s.Keys().FindByHash(t.Context(), apikey.Hash{})
		result <- err
	}()
	testkit.WaitUntil(t, "the look-up waits", func() bool { return counter(t, s, "petstore_store_read_waits_total") == 1 })
	s.ReleaseReadSlots(maxOpenConns)
	if err := <-result; !errors.Is(err, domain.ErrUnauthenticated) && !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("FindByHash: got %v, want that there is no key, or that it took too long", err)
	}
}

// On a database server, reads by id share a query, which waits for a connection as other reads do.
func TestSharedReadsThatWaitAreCounted(t *testing.T) {
	t.Parallel()
	s := open(t, checking(newEngine(t), func() (engine.State, bool, error) { return engine.State{}, false, nil }), repository.Options{})
	inTx(t, s, adding("Rex"))
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns))
	result := make(chan error, 1)
	go func() {
		_, err := s.Pets().Get(t.Context(), 1)
		result <- err
	}()
	testkit.WaitUntil(t, "the read waits", func() bool { return s.ReadWaits() == 1 })
	s.ReleaseReadSlots(maxOpenConns)
	check(t, <-result)
}

// A search waits for another search and for a connection, together at most for the timeout.
func TestSearchTakesAtMostTheTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second // a machine may stop for a second
	s := open(t, newEngine(t), repository.Options{Timeout: timeout})
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns))
	defer s.ReleaseReadSlots(maxOpenConns)
	time.AfterFunc(timeout*3/4, s.AcquireSearch())
	start := time.Now()
	testkit.WantError(t, "a search", calls["pets.List of a search"](t.Context(), s), domain.ErrUnavailable, context.DeadlineExceeded)
	if took := time.Since(start); took > testkit.Scaled(timeout*3/2) {
		t.Errorf("the search took %s, want about %s", took, timeout)
	}
}

// Each waits for another Each, at most for the timeout. No other read does.
func TestSlowEachDelaysNoOtherRead(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{Timeout: 3 * time.Second}) // the second Each takes as long, the others less
	inTx(t, s, adding("Rex"))
	each := func(fn func()) error {
		return s.Pets().Each(t.Context(), "", func(domain.Pet) error { fn(); return nil })
	}
	var second error
	check(t, each(func() {
		second = each(func() { t.Error("two calls of Each run at a time") })
		for name, call := range calls {
			if name == "pets.Count" || name == "orders.Count" || name == "pets.Each" || name == "orders.Each" {
				continue
			}
			if err := call(t.Context(), s); errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("%s: got %v during a slow Each", name, err)
			}
		}
	}))
	testkit.WantError(t, "the second Each", second, domain.ErrUnavailable, context.DeadlineExceeded)
	check(t, each(func() {}))
}

// A search takes longer than other reads, so that several at a time could use all connections.
func TestSearchWaitsForAnotherWithoutAConnection(t *testing.T) {
	t.Parallel()
	store := open(t, newEngine(t), repository.Options{})
	release := store.AcquireSearch()
	result := make(chan error, 1)
	go func() { result <- calls["pets.List of a search"](t.Context(), store) }()
	testkit.WaitUntil(t, "the search waits", func() bool { return store.ReadWaits() == 1 })
	if !store.TryAcquireReadSlots(maxOpenConns) {
		t.Fatal("the search that waits has a connection")
	}
	store.ReleaseReadSlots(maxOpenConns)
	release()
	check(t, <-result)
}
