//go:build postgres

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
)

// openProcesses returns stores on one database, as several processes have them.
func openProcesses(t *testing.T) (stores [3]*repository.Store) {
	t.Helper()
	dsn := server.NewDatabase(t)
	for i := range stores {
		stores[i] = open(t, dsn, repository.Options{Migrate: true})
	}
	return stores
}

// Ids that became visible in another order would be missed by a client that asks for the
// pets after the last one that it knows.
func TestIDsIncreaseInTheOrderOfCommitsOfAllProcesses(t *testing.T) {
	t.Parallel()
	stores := openProcesses(t)
	const writers, petsEach = 8, 25
	var wait sync.WaitGroup
	for n := range writers {
		wait.Go(func() {
			for range petsEach {
				if err := stores[n%2].InTx(t.Context(), adding("Rex")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { wait.Wait(); close(written) }()
	read := func() (found int) {
		for after, ended := int64(0), false; ; {
			page, err := stores[2].Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{After: after, Limit: 100}})
			check(t, err)
			found += len(page.Items)
			if len(page.Items) > 0 {
				after = page.Items[len(page.Items)-1].ID
			} else if ended {
				return found
			}
			select {
			case <-written:
				ended = true
			default:
			}
		}
	}
	if found := read(); found != writers*petsEach {
		t.Errorf("a client that follows the ids got %d pets, want %d", found, writers*petsEach)
	}
}

func TestAnimalIsSoldOnceByAllProcesses(t *testing.T) {
	t.Parallel()
	stores := openProcesses(t)
	check(t, stores[0].InTx(t.Context(), adding("Rex")))
	var sold atomic.Int32
	var wait sync.WaitGroup
	for n := range 30 {
		wait.Go(func() {
			err := stores[n%3].InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
				_, err := r.Orders.Create(ctx, 1, time.UnixMilli(0))
				return err
			})
			if err == nil {
				sold.Add(1)
			} else if !errors.Is(err, domain.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if sold.Load() != 1 {
		t.Errorf("the animal was sold %d times, want once", sold.Load())
	}
}

func TestRetriesThroughAllProcessesCreateOnce(t *testing.T) {
	t.Parallel()
	stores := openProcesses(t)
	const requests, retries = 10, 6
	var wait sync.WaitGroup
	for n := range requests * retries {
		claim := domain.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: fmt.Sprint(n / retries)}, At: time.UnixMilli(1)}
		wait.Go(func() {
			if err := stores[n%3].InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
				_, claimed, err := r.Idempotency.Claim(ctx, claim)
				if err != nil || !claimed {
					return err
				}
				return errors.Join(adding("Rex")(ctx, r), r.Idempotency.Complete(ctx, claim.IdempotencyKey, []byte("result")))
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	page, err := stores[0].Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 100}})
	if err != nil || len(page.Items) != requests {
		t.Errorf("got %d pets and %v, want %d", len(page.Items), err, requests)
	}
}
