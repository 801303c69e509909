package repository_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/engine"
)

func TestReadOfRowsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	inTx(t, store, addingMany(1000))
	ctx, cancel := context.WithCancel(t.Context())
	rows := 0
	err := store.EachPet(ctx, func(domain.Pet) error {
		cancel()
		rows++
		return nil
	})
	if !errors.Is(err, domain.ErrUnavailable) || rows != 1 {
		t.Errorf("got %d rows and %v, want 1 and unavailable", rows, err)
	}
}

// addingMany returns a function that adds n pets.
func addingMany(n int) txFunc {
	return func(ctx context.Context, r port.Repositories) error {
		pets := make([]domain.NewPet, n)
		for i := range pets {
			pets[i].Name = "Rex"
		}
		_, err := r.Pets.CreateAll(ctx, pets)
		return err
	}
}

func TestDeadlineOfEachIsObserved(t *testing.T) {
	t.Parallel()
	store, failures := openCounting(t, newEngine(t))
	inTx(t, store, addingMany(2))
	soon, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	err := store.Pets().Each(soon, "", func(domain.Pet) error {
		<-soon.Done()
		return nil
	})
	if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want unavailable because of the deadline", err)
	}
	failures.want(t, map[engine.Failure]int{engine.FailureTimeout: 1})
	failure := errors.New("failure")
	if err := store.Pets().Each(t.Context(), "", func(domain.Pet) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
	failures.want(t, map[engine.Failure]int{})
}

func TestEachInATransactionReadsItsWrites(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	inTx(t, store, func(ctx context.Context, r port.Repositories) error {
		if err := adding("Rex")(ctx, r); err != nil {
			return err
		}
		var names []string
		err := r.Pets.Each(ctx, "", func(pet domain.Pet) error {
			names = append(names, pet.Name)
			return nil
		})
		if len(names) != 1 || names[0] != "Rex" {
			t.Errorf("got the names %v, want Rex", names)
		}
		return err
	})
}
