package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// eachAndCount returns the records of Each. It checks that Count returns their number.
func eachAndCount[T any, S ~string](
	t *testing.T, status S, count func(context.Context, S) (int64, error), each func(context.Context, S, func(T) error) error,
) []T {
	t.Helper()
	records, err := collect(t.Context(), status, each)
	Check(t, err)
	n, err := count(t.Context(), status)
	Equal(t, fmt.Sprintf("Count of the status %q", status), int64(len(records)), n, err)
	return records
}

func eachRecordIsReadOnceInOrder(t *testing.T, s Store) {
	pets := addPets(t, s, domain.NewPet{Name: "1", Status: domain.PetAvailable}, domain.NewPet{Name: "2"}, domain.NewPet{Name: "3", Status: domain.PetAvailable})
	orders := placeOrders(t, s, 1, 3, 2)
	moveOrder(t, s, 2, domain.OrderDelivered, noon)
	orders[1].Status, orders[1].UpdatedAt = domain.OrderDelivered, noon.Add(time.Millisecond)
	for status, want := range map[domain.PetStatus][]domain.Pet{"": pets, domain.PetAvailable: {pets[0], pets[2]}, domain.PetSold: nil} {
		Equal(t, fmt.Sprintf("pets with the status %q", status), want, eachAndCount(t, status, s.Pets().Count, s.Pets().Each))
	}
	for status, want := range map[domain.OrderStatus][]domain.Order{"": orders, domain.OrderPlaced: {orders[0], orders[2]}, domain.OrderCancelled: nil} {
		Equal(t, fmt.Sprintf("orders with the status %q", status), want, eachAndCount(t, status, s.Orders().Count, s.Orders().Each))
	}
}

// eachReadsOneSnapshot changes the store after the first record was read.
func eachReadsOneSnapshot(t *testing.T, s Store) {
	news := make([]domain.NewPet, 1000) // more than the database reads at once
	for i := range news {
		news[i].Name = "Rex"
	}
	pets := tx(t, s, func(ctx context.Context, r port.Repositories) ([]domain.Pet, error) {
		return r.Pets.CreateAll(ctx, news)
	})
	var got []domain.Pet
	err := s.Pets().Each(t.Context(), "", func(pet domain.Pet) error {
		if len(got) == 0 {
			addPets(t, s, domain.NewPet{Name: "later"})
			inTx(t, s, func(ctx context.Context, r port.Repositories) error {
				_, err := r.Pets.ChangeStatusIf(ctx, pets[len(pets)-1].ID, []domain.PetStatus{""}, domain.PetSold)
				return err
			})
		}
		got = append(got, pet)
		return nil
	})
	Equal(t, "Each", pets, got, err)
}

func eachStopsAtAnErrorAndAtTheEndOfItsContext(t *testing.T, s Store) {
	addPets(t, s, domain.NewPet{Name: "1"}, domain.NewPet{Name: "2"})
	// Errors that are not of the store, although its own may wrap the same.
	for _, failure := range []error{errors.New("failure"), &fs.PathError{Op: "write", Path: "pets.csv", Err: syscall.ENOSPC}, context.Canceled, context.DeadlineExceeded} {
		calls := 0
		err := s.Pets().Each(t.Context(), "", func(domain.Pet) error {
			calls++
			return failure
		})
		if !errors.Is(err, failure) || errors.Is(err, domain.ErrUnavailable) || calls != 1 {
			t.Errorf("got %v after %d calls, want %v after 1", err, calls, failure)
		}
	}
	placeOrders(t, s, 1, 2)
	for name, each := range map[string]func(context.Context, func()) error{
		"pets": func(ctx context.Context, fn func()) error {
			return s.Pets().Each(ctx, "", func(domain.Pet) error { fn(); return nil })
		},
		"orders": func(ctx context.Context, fn func()) error {
			return s.Orders().Each(ctx, "", func(domain.Order) error { fn(); return nil })
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := each(ctx, func() { calls++; cancel() })
		wantCode(t, err, domain.ErrUnavailable, domain.CodeUnavailable)
		Equal(t, name+": the calls before the context ended", 1, calls)
		wantCode(t, each(ctx, func() {}), domain.ErrUnavailable, domain.CodeUnavailable)
	}
}
