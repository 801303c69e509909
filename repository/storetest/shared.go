package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
)

// callers is the number of concurrent callers of the tests of RunShared.
const callers = 64

// RunShared runs the tests of several stores on one database, as several processes have
// them. open returns n stores on a new empty database.
func RunShared(t *testing.T, open func(t *testing.T, n int) []Store) {
	for _, n := range []int{2, 3} {
		for name, test := range map[string]func(*testing.T, []Store){
			"pages are complete while others write": pagesAreCompleteWhileOthersWrite,
			"an animal is sold once":                animalIsSoldOnce,
			"retries create once":                   retriesCreateOnce,
			"one import advances":                   oneImportAdvances,
			"one first key is created":              oneFirstKeyIsCreated,
		} {
			t.Run(fmt.Sprintf("%d stores, %s", n, name), func(t *testing.T) {
				t.Parallel()
				test(t, open(t, n))
			})
		}
	}
}

// concurrently calls fn for 64 callers, each with one of the stores.
func concurrently(stores []Store, fn func(caller int, s Store)) {
	var wait sync.WaitGroup
	for caller := range callers {
		wait.Go(func() { fn(caller, stores[caller%len(stores)]) })
	}
	wait.Wait()
}

// pagesAreCompleteWhileOthersWrite follows the pages of each store while all stores add
// pets. Ids that became visible in another order would be missed by a client that asks for
// the pets after the last one that it knows.
func pagesAreCompleteWhileOthersWrite(t *testing.T, stores []Store) {
	const petsEach = 4
	written := make(chan struct{})
	var readers sync.WaitGroup
	for i, s := range stores {
		readers.Go(func() {
			ids, err := followPages(t.Context(), s, written)
			if err != nil || len(ids) != callers*petsEach || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
				t.Errorf("store %d: got %d pets and %v, want %d, each once: %v", i, len(ids), err, callers*petsEach, ids)
			}
		})
	}
	concurrently(stores, func(_ int, s Store) {
		for range petsEach {
			if err := s.InTx(t.Context(), addRex); err != nil {
				t.Error(err)
			}
		}
	})
	close(written)
	readers.Wait()
}

// followPages returns the ids of all pets, each page after the last id of the one before,
// until a page that was read after written was closed is empty.
func followPages(ctx context.Context, s Store, written <-chan struct{}) (ids []int64, err error) {
	for after, ended := int64(0), false; ; {
		page, err := s.Pets().List(ctx, pageQuery(after, 7))
		if err != nil || ended && len(page.Items) == 0 {
			return ids, err
		}
		for _, pet := range page.Items {
			ids, after = append(ids, pet.ID), pet.ID
		}
		select {
		case <-written:
			ended = true
		default:
		}
	}
}

func addRex(ctx context.Context, r port.Repositories) error {
	_, err := r.Pets.Create(ctx, domain.NewPet{Name: "Rex"})
	return err
}

func animalIsSoldOnce(t *testing.T, stores []Store) {
	addPets(t, stores[0], domain.NewPet{Name: "Rex"})
	var sold atomic.Int32
	concurrently(stores, func(_ int, s Store) {
		err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			_, err := r.Orders.Create(ctx, 1, noon)
			return err
		})
		if err == nil {
			sold.Add(1)
		} else if !errors.Is(err, domain.ErrConflict) {
			t.Error(err)
		}
	})
	if sold.Load() != 1 {
		t.Errorf("the animal was sold %d times, want once", sold.Load())
	}
}

func retriesCreateOnce(t *testing.T, stores []Store) {
	var created atomic.Int32
	concurrently(stores, func(caller int, s Store) {
		var outcome port.Outcome
		var claimed bool
		err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) (err error) {
			outcome, claimed, err = r.Idempotency.Claim(ctx, firstClaim)
			if err != nil || !claimed {
				return err
			}
			return errors.Join(addRex(ctx, r), r.Idempotency.Complete(ctx, firstClaim, []byte("result")))
		})
		switch want := (port.Outcome{Fingerprint: firstClaim.Fingerprint, Result: []byte("result")}); {
		case err != nil:
			t.Errorf("caller %d: %v", caller, err)
		case claimed:
			created.Add(1)
		case !cmp.Equal(want, outcome):
			t.Errorf("caller %d: got the outcome %+v, want %+v", caller, outcome, want)
		}
	})
	page, err := stores[0].Pets().List(t.Context(), pageQuery(0, 2))
	if err != nil || len(page.Items) != 1 || created.Load() != 1 {
		t.Errorf("got %d claims that succeeded, %d pets and %v, want one of both", created.Load(), len(page.Items), err)
	}
}

func oneImportAdvances(t *testing.T, stores []Store) {
	for _, from := range []port.ImportState{{}, {Added: 1}} {
		var advances atomic.Int32
		concurrently(stores, func(_ int, s Store) {
			advanced := false
			err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) (err error) {
				advanced, err = r.Imports.Advance(ctx, port.FileDigest{1}, from, port.ImportState{Added: from.Added + 1}, noon)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if advanced {
				advances.Add(1)
			}
		})
		if got := advances.Load(); got != 1 {
			t.Errorf("from %+v: got %d imports that advanced, want 1", from, got)
		}
	}
}

func oneFirstKeyIsCreated(t *testing.T, stores []Store) {
	concurrently(stores, func(_ int, s Store) {
		key, err := apikey.New("first", apikey.Generate(), noon, 0)
		if err == nil {
			err = s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
				if exists, err := r.Keys.Any(ctx); err != nil || exists {
					return err
				}
				_, err := r.Keys.Create(ctx, key)
				return err
			})
		}
		if err != nil {
			t.Error(err)
		}
	})
	if keys, err := stores[0].Keys().List(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("got %d keys and %v, want one", len(keys), err)
	}
}
