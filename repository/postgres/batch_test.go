//go:build postgres

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func TestOnlyTheFunctionThatFailedRunsWithASavepoint(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	store := open(t, server.NewDatabase(t), repository.Options{Migrate: true, TracerProvider: provider})
	sold, _, err := newPets(store).Create(t.Context(), domain.NewPet{Name: "Max", Status: domain.PetSold}, domain.IdempotencyKey{})
	check(t, err)
	const added, unchanged = 63, 8
	calls := creating(t, store, added)
	calls = append(calls, func(ctx context.Context) {
		if err := placing(ctx, store, sold.ID, "order"); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("the order of a sold animal: got %v, want a conflict", err)
		}
	})
	for i := range unchanged { // these fail without a change
		key := fmt.Sprint("used", i)
		create := func(ctx context.Context, name string) error {
			_, _, err := newPets(store).Create(ctx, domain.NewPet{Name: name}, domain.IdempotencyKey{Caller: "1", Value: key})
			return err
		}
		check(t, create(t.Context(), "Tom"))
		calls = append(calls, func(ctx context.Context) {
			if err := create(ctx, "Kim"); !errors.Is(err, domain.ErrReused) {
				t.Errorf("a used key: got %v, want reused", err)
			}
		})
	}
	spans.Reset()
	inOneBatch(t, store, calls...)
	got := map[string]int{}
	for _, span := range spans.GetSpans() {
		got[strings.Join(strings.Fields(span.Attributes[0].Value.AsString())[:2], " ")]++
	}
	want := map[string]int{
		"DELETE FROM": 2, "INSERT INTO": 2*2 + 1, "WITH numbered": 2, // the last claim is sent alone
		"UPDATE pets": 2, "SELECT id,": 2, "SELECT fingerprint,": 2 * unchanged,
		"SAVEPOINT tx_func": 1, "ROLLBACK TO": 1, "RELEASE tx_func": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the statements (-want +got)\n%s", diff)
	}
	wantPets(t, store, 1+unchanged+added)
}

// Those that share a key claim it one after the other, but need no run for each.
func TestBatchRunsAgainOnceForAllFailures(t *testing.T) {
	t.Parallel()
	store := open(t, server.NewDatabase(t), repository.Options{Migrate: true})
	var runs atomic.Int32
	calls := creating(t, store, 20)
	calls = append(calls, func(ctx context.Context) {
		check(t, store.InTx(ctx, func(context.Context, domain.Repositories) error { runs.Add(1); return nil }))
	})
	fails := func(petID int64, key string) func(context.Context) {
		return func(ctx context.Context) {
			if diff := cmp.Diff(domain.PetNotFound(petID), placing(ctx, store, petID, key)); diff != "" {
				t.Errorf("the order of the unknown pet %d (-want +got)\n%s", petID, diff)
			}
		}
	}
	for i := range 5 {
		calls = append(calls, fails(int64(1000+i), fmt.Sprint("order", i)), fails(2000, "shared"))
	}
	inOneBatch(t, store, calls...)
	if runs.Load() != 2 {
		t.Errorf("another function of the batch ran %d times, want 2", runs.Load())
	}
	wantPets(t, store, 20)
}

// creating returns n calls that create a pet with a key.
func creating(t *testing.T, s *repository.Store, n int) (calls []func(context.Context)) {
	t.Helper()
	for i := range n {
		calls = append(calls, func(ctx context.Context) {
			key := domain.IdempotencyKey{Caller: "1", Value: fmt.Sprint("pet", i)}
			pet, replayed, err := newPets(s).Create(ctx, domain.NewPet{Name: fmt.Sprint("Rex ", i)}, key)
			if err != nil || replayed || pet.ID == 0 {
				t.Errorf("Create: got %v, %t, %v, want a new pet", pet, replayed, err)
			}
		})
	}
	return calls
}

// placing places an order with a key, and returns its error.
func placing(ctx context.Context, s *repository.Store, petID int64, key string) error {
	orders := usecase.NewOrders(s, s.Orders(), func() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) })
	_, _, err := orders.Place(ctx, petID, domain.IdempotencyKey{Caller: "1", Value: key})
	return err
}

func wantPets(t *testing.T, s *repository.Store, want int64) {
	t.Helper()
	if got, err := s.Pets().Count(t.Context(), ""); err != nil || got != want {
		t.Errorf("got %d pets and %v, want %d", got, err, want)
	}
}
