package repository_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/batch"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// The contract with SQLite. Package postgres runs it with PostgreSQL.
func TestStoreContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store {
		o := repository.Options{SearchWindow: storetest.SearchWindow, Timeout: time.Minute} // a test reads 2,500 pages at once
		return open(t, newEngine(t), o)
	})
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
	testkit.WantError(t, "closed", s.InTx(t.Context(), adding("too late")), domain.ErrUnavailable, batch.ErrClosed)
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

func TestNumbersFollowTheTransactions(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{})
	pet := domain.Pet{ID: 1, Name: "a"}
	pending := domain.Pet{ID: 1, Name: "a", Status: domain.PetPending}
	order := domain.Order{ID: 1, PetID: 1, Status: domain.OrderDelivered, CreatedAt: time.UnixMilli(0), UpdatedAt: time.UnixMilli(0)}
	for _, step := range []struct {
		name     string
		fn       txFunc
		position int64 // how much the position rises
		alters   bool
	}{
		{"a new pet", adding("a"), 1, false},
		{"a pet with another status", func(ctx context.Context, r port.Repositories) error { return r.Pets.Update(ctx, pet, pending) }, 1, true},
		{"a new order", func(ctx context.Context, r port.Repositories) error {
			_, err := r.Orders.Create(ctx, 1, time.UnixMilli(0))
			return err
		}, 1, false},
		{"an order that ends", func(ctx context.Context, r port.Repositories) error { return r.Orders.End(ctx, order) }, 1, true},
		{"two pets", addingMany(2), 2, false},
		{"no change", func(context.Context, port.Repositories) error { return nil }, 0, false},
	} {
		before, err := s.Numbers(t.Context())
		check(t, err)
		inTx(t, s, step.fn)
		after, err := s.Numbers(t.Context())
		testkit.Equal(t, step.name, step.position, after.Position-before.Position, err)
		testkit.Equal(t, step.name, step.alters, after.Altered != before.Altered)
		if step.alters {
			testkit.Equal(t, "the altering change", after.Position, after.Altered)
		}
	}
}

func TestNumbersIncludeCommitsOfOtherStores(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	stores := [2]*repository.Store{open(t, e, repository.Options{}), open(t, e, repository.Options{})}
	before, err := stores[0].Numbers(t.Context())
	check(t, err)
	inTx(t, stores[1], adding("Rex"))
	testkit.WaitUntil(t, "the position has risen", func() bool {
		after, _ := stores[0].Numbers(t.Context())
		return after.Position > before.Position && after.Generation > before.Generation
	})
}

func TestNumbersAreUnavailableWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s, wantFailures := openCounting(t, checking(newEngine(t), failed))
	_, err := s.Numbers(t.Context())
	testkit.WantError(t, "Numbers", err, domain.ErrUnavailable)
	wantFailures(engine.FailureOther)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Numbers(canceled)
	testkit.WantError(t, "Numbers of a canceled request", err, domain.ErrUnavailable)
}

// The reason must not be that a file was moved, which Close does to the WAL.
func TestPingOfAClosedStoreNamesNoFile(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{})
	inTx(t, s, adding("Rex"))
	check(t, s.Close())
	err := s.Ping(t.Context())
	testkit.WantError(t, "Ping", err, domain.ErrUnavailable)
	testkit.Equal(t, "whether the error names a file", false, strings.Contains(fmt.Sprint(err), "file"))
}
