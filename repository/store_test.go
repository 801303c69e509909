package repository_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/groupcommit"
)

// An error that the function did not return is an ErrUnavailable, and not also of another kind.
func TestTransactionThatDidNotEndItselfIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	release := block(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	canceled := begin(ctx, s, adding("canceled"))
	cancel()
	if err := <-canceled; !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got %v, want unavailable and canceled", err)
	}
	release()
	for name, c := range map[string]struct {
		fn   txFunc
		want error
	}{
		// The violation of a deferred foreign key makes the commit fail.
		"failed commit": {func(ctx context.Context, r port.Repositories) error {
			if err := repository.ExecIn(ctx, r, "PRAGMA defer_foreign_keys = ON"); err != nil {
				return err
			}
			_, err := r.Orders.Create(ctx, 4711, time.UnixMilli(0))
			return err
		}, nil},
		// As t.Fatal does.
		"Goexit": {func(context.Context, port.Repositories) error { runtime.Goexit(); return nil }, groupcommit.ErrGoexit},
	} {
		err := s.InTx(t.Context(), c.fn)
		if !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrConflict) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want unavailable, and %v", name, err, c.want)
		}
	}
	wantNames(t, s)
	inTx(t, s, adding("next"))
	wantNames(t, s, "next")
	check(t, s.Close())
	if err := s.InTx(t.Context(), adding("too late")); !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, groupcommit.ErrClosed) {
		t.Errorf("closed: got %v, want unavailable and %v", err, groupcommit.ErrClosed)
	}
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
	if len(sizes) != 1 || sizes[0] != 1 {
		t.Errorf("got the batches %v, want one of one transaction", sizes)
	}
	release := block(t, s)
	queued := begin(t.Context(), s, adding("Tom"))
	if waiting := s.Waiting(); waiting != 2 {
		t.Errorf("got %d waiting transactions, want 2", waiting)
	}
	release()
	if err := <-queued; err != nil || s.Waiting() != 0 {
		t.Errorf("got %v and %d waiting transactions after the commit, want 0", err, s.Waiting())
	}
}

func TestCloseWaitsForTransactions(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	s, err := repository.Open(t.Context(), e, repository.Options{Migrate: true})
	check(t, err)
	result, closed, began, end := make(chan error), make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		result <- s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			close(began)
			<-end
			return adding("Rex")(ctx, r)
		})
	}()
	<-began
	go func() { closed <- s.Close() }()
	close(end)
	check(t, errors.Join(<-result, <-closed))
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: got %v, want no error", err)
	}
	wantNames(t, open(t, e, repository.Options{}), "Rex")
}

func TestVersionsIncreaseWithChanges(t *testing.T) {
	t.Parallel()
	s := open(t, checking(newEngine(t), unchanged), repository.Options{}) // else all increase when no poll happens for long
	check := func(name string, fn txFunc, wantAdded, wantChanged bool) {
		t.Helper()
		added, changed, _ := s.Versions(t.Context())
		_ = s.InTx(t.Context(), fn)
		addedAfter, changedAfter, _ := s.Versions(t.Context())
		if (addedAfter > added) != wantAdded || (changedAfter > changed) != wantChanged {
			t.Errorf("%s: got increases of added %t and changed %t, want %t and %t",
				name, addedAfter > added, changedAfter > changed, wantAdded, wantChanged)
		}
	}
	check("a new pet", adding("a"), true, false)
	check("new pets", func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.CreateAll(ctx, []domain.NewPet{{Name: "b"}})
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
	waitUntil(t, "both numbers have increased", func() bool {
		a, c, _ := stores[0].Versions(t.Context())
		return a > added && c > changed
	})
}

// The store cannot poll during a slow checkpoint, but other processes can commit.
func TestVersionsIncreaseWhileTheStoreCannotPoll(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	defer block(t, s)()
	added, changed, _ := s.Versions(t.Context())
	waitUntil(t, "both numbers have increased", func() bool {
		a, c, _ := s.Versions(t.Context())
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
			if _, _, err := s.Versions(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if polls.Load() != want {
			t.Errorf("with the maximum staleness %v: got %d checks, want %d", maxStaleness, polls.Load(), want)
		}
	}
}

func TestVersionsAreUnavailableWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	failures := newFailureCounts()
	s := open(t, checking(newEngine(t), failed),
		repository.Options{ObserveFailure: failures.add})
	if _, _, err := s.Versions(t.Context()); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	failures.want(t, map[engine.Failure]int{engine.FailureOther: 1})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Versions(canceled); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("of a canceled request: got %v, want unavailable", err)
	}
}
