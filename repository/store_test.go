package repository_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
	"example.com/petstore/repository/storetest"
)

// The contract with SQLite. Package postgres runs it with PostgreSQL.
func TestStoreContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store { return open(t, newEngine(t), repository.Options{}) })
}

// If a transaction fails for another reason than its function, the error is an ErrUnavailable and of no other kind.
func TestTransactionThatDidNotEndItselfIsUnavailable(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{})
	release := block(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	canceled := begin(ctx, s, adding("canceled"))
	cancel()
	testkit.WantError(t, "canceled", <-canceled, domain.ErrUnavailable, context.Canceled)
	release()
	// The violation of a deferred foreign key makes the commit fail.
	err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		return errors.Join(
			repository.ExecIn(ctx, r, "CREATE TABLE others (pet_id INTEGER REFERENCES pets (id) DEFERRABLE INITIALLY DEFERRED)"),
			repository.ExecIn(ctx, r, "INSERT INTO others VALUES (4711)"),
		)
	})
	testkit.WantError(t, "failed commit", err, domain.ErrUnavailable)
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrConflict) {
		t.Errorf("failed commit: got %v, want that it is not of another kind", err)
	}
	wantNames(t, s)
	inTx(t, s, adding("next"))
	wantNames(t, s, "next")
	check(t, s.Close())
	testkit.WantError(t, "closed", s.InTx(t.Context(), adding("too late")), domain.ErrUnavailable, groupcommit.ErrClosed)
}

func TestCommitIsObserved(t *testing.T) {
	t.Parallel()
	var sizes []int
	s := open(t, newEngine(t), repository.Options{ObserveCommit: func(batch int, took time.Duration) {
		if took <= 0 {
			t.Errorf("a commit took %v", took)
		}
		sizes = append(sizes, batch)
	}})
	inTx(t, s, adding("Rex"))
	testkit.Equal(t, "the batches", []int{1}, sizes)
}

// When the test ends, open calls Close again.
func TestCloseWaitsForTransactions(t *testing.T) {
	t.Parallel()
	e, closed := newEngine(t), make(chan error)
	s := open(t, e, repository.Options{})
	release := block(t, s)
	added := begin(t.Context(), s, adding("Rex"))
	go func() { closed <- s.Close() }()
	release()
	check(t, errors.Join(<-added, <-closed))
	wantNames(t, open(t, e, repository.Options{}), "Rex")
}

func TestVersionsIncreaseWithChanges(t *testing.T) {
	t.Parallel()
	s := open(t, checking(newEngine(t), unchanged), repository.Options{}) // otherwise all numbers increase after a long time without a poll
	check := func(name string, fn txFunc, wantAdded, wantChanged bool) {
		t.Helper()
		added, changed, _ := s.Versions(t.Context())
		inTx(t, s, fn)
		addedAfter, changedAfter, _ := s.Versions(t.Context())
		testkit.Equal(t, name, [2]bool{wantAdded, wantChanged}, [2]bool{addedAfter > added, changedAfter > changed})
	}
	check("a new pet", adding("a"), true, false)
	check("new pets", func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, []domain.NewPet{{Name: "b"}})
		return err
	}, true, false)
	check("a pet with another status", func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.ChangeStatusIf(ctx, 1, []domain.PetStatus{""}, domain.PetPending)
		return err
	}, false, true)
	check("a new order", func(ctx context.Context, r port.Repositories) error {
		_, err := r.Orders.Create(ctx, 1, time.UnixMilli(0))
		return err
	}, true, false)
	check("an order with another status", func(ctx context.Context, r port.Repositories) error {
		_, err := r.Orders.ChangeStatusIf(ctx, 1, domain.OrderPlaced, domain.OrderDelivered, time.UnixMilli(0))
		return err
	}, false, true)
	check("no change", func(context.Context, port.Repositories) error { return nil }, false, false)
}

func TestCommitsOfOtherStoresIncreaseVersions(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	stores := [2]*repository.Store{open(t, e, repository.Options{}), open(t, e, repository.Options{})}
	added, changed, _ := stores[0].Versions(t.Context())
	inTx(t, stores[1], adding("Rex"))
	testkit.WaitUntil(t, "both numbers have increased", func() bool {
		a, c, _ := stores[0].Versions(t.Context())
		return a > added && c > changed
	})
}

func TestVersionsAreCheckedUnlessTheyMayBeStale(t *testing.T) {
	t.Parallel()
	for maxStaleness, want := range map[time.Duration]int64{0: 3, 5 * time.Second: 1} {
		var polls atomic.Int64
		s := open(t, checking(newEngine(t), func() (engine.Changes, error) {
			polls.Add(1)
			return unchanged()
		}), repository.Options{MaxStaleness: maxStaleness})
		for range 3 {
			_, _, err := s.Versions(t.Context())
			check(t, err)
		}
		testkit.Equal(t, "MaxStaleness", maxStaleness, s.MaxStaleness())
		testkit.Equal(t, fmt.Sprint("the checks with the maximum staleness ", maxStaleness), want, polls.Load())
	}
}

func TestVersionsAreUnavailableWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s, wantFailures := openCounting(t, checking(newEngine(t), failed))
	_, _, err := s.Versions(t.Context())
	testkit.WantError(t, "Versions", err, domain.ErrUnavailable)
	wantFailures(engine.FailureOther)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.Versions(canceled)
	testkit.WantError(t, "Versions of a canceled request", err, domain.ErrUnavailable)
}
