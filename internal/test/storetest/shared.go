package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

// callers is the number of concurrent callers in the tests of RunShared.
const callers = 64

// RunShared runs the tests in which several stores use one database. Each store stands for a process. open
// returns n stores on a new empty database.
func RunShared(t *testing.T, open func(t *testing.T, n int) []Store) {
	t.Run("pages are complete while others write", func(t *testing.T) {
		t.Parallel()
		pagesAreCompleteWhileOthersWrite(t, open(t, 3))
	})
	t.Run("a creation adds its pets once", func(t *testing.T) {
		t.Parallel()
		stores := open(t, 3)
		var want []string
		for key := range 16 {
			claim := firstClaim
			claim.Value = strconv.Itoa(key)
			times := testkit.Concurrently(t, callers, func(caller int) (bool, error) {
				created, _, err := CreatePets(t.Context(), stores[caller%len(stores)], []domain.NewPet{{Name: "Rex"}, {Name: "Tom"}}, claim)
				return created != nil, err
			})
			testkit.Equal(t, "how often they were created", 1, times)
			want = append(want, "Rex", "Tom")
		}
		WantNames(t, stores[0], want...)
	})
	for name, test := range doneOnce {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores := open(t, 3)
			test.prepare(t, stores[0])
			times := testkit.Concurrently(t, callers, func(caller int) (done bool, err error) {
				err = stores[caller%len(stores)].InTx(t.Context(), func(ctx context.Context, r port.Repositories) (err error) {
					done, err = test.do(ctx, r)
					return err
				})
				return done, err
			})
			testkit.Equal(t, "how often it was done", 1, times)
			pets, err := stores[0].Pets().Count(t.Context(), "")
			keys, keysErr := stores[0].Keys().List(t.Context())
			testkit.Equal(t, "the number of pets", test.pets, pets, err)
			testkit.Equal(t, "the number of API keys", test.keys, len(keys), keysErr)
		})
	}
}

// doneOnce are operations that only one of many concurrent callers can do. pets and keys are the numbers of
// pets and API keys afterwards.
var doneOnce = map[string]struct {
	prepare func(*testing.T, Store)
	do      func(context.Context, port.Repositories) (done bool, err error)
	pets    int64
	keys    int
}{
	"an animal is sold once": {
		func(t *testing.T, s Store) { addPets(t, s, domain.NewPet{Name: "Rex"}) },
		func(ctx context.Context, r port.Repositories) (bool, error) {
			ordered, err := r.Orders.Live(ctx, 1)
			if err != nil || ordered {
				return false, err
			}
			return true, orderFirstPet(ctx, r)
		}, 1, 0,
	},
	"retries create once": {func(*testing.T, Store) {}, func(ctx context.Context, r port.Repositories) (bool, error) {
		outcome, claimed, err := r.Idempotency.Claim(ctx, firstClaim)
		if claimed {
			return true, errors.Join(err, Adding("Rex")(ctx, r), r.Idempotency.Complete(ctx, firstClaim, []byte("result")))
		}
		if want := (port.Outcome{Fingerprint: firstClaim.Fingerprint, Result: []byte("result")}); err == nil && !cmp.Equal(want, outcome) {
			err = fmt.Errorf("got the outcome %+v, want %+v", outcome, want)
		}
		return false, err
	}, 1, 0},
	"one import begins": {func(*testing.T, Store) {}, advancing(0), 0, 0},
	"one import continues": {
		func(t *testing.T, s Store) {
			setAdded(t, s, port.FileDigest{1}, 1)
		},
		advancing(1), 0, 0,
	},
	"one first key is created": {func(*testing.T, Store) {}, func(ctx context.Context, r port.Repositories) (bool, error) {
		exists, err := r.Keys.Any(ctx)
		if err != nil || exists {
			return false, err
		}
		key, err := apikey.New("first", apikey.Generate(), noon, 0)
		if err != nil {
			return false, err
		}
		return r.Keys.Create(ctx, key)
	}, 0, 1},
}

// advancing returns a function that advances an import by one animal, unless another call has done so.
func advancing(added int64) func(context.Context, port.Repositories) (bool, error) {
	return func(ctx context.Context, r port.Repositories) (bool, error) {
		before, err := r.Imports.Added(ctx, port.FileDigest{1})
		if err != nil || before != added {
			return false, err
		}
		return true, r.Imports.SetAdded(ctx, port.FileDigest{1}, added+1)
	}
}

// pagesAreCompleteWhileOthersWrite follows the pets and the changes of each store while all stores add
// pets. If ids became visible in another order, a client that asks for the records after the last known id
// would miss some.
func pagesAreCompleteWhileOthersWrite(t *testing.T, stores []Store) {
	const petsEach = 4
	position := latest(t, stores[0])
	written := make(chan struct{})
	var readers sync.WaitGroup
	follow := func(what string, after int64, read func(after int64) (ids []int64, err error)) {
		readers.Go(func() {
			ids, err := followPages(after, read, written)
			if err != nil || len(ids) != callers*petsEach || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
				t.Errorf("got %d %s and %v, want %d, each once: %v", len(ids), what, err, callers*petsEach, ids)
			}
		})
	}
	for _, s := range stores {
		follow("pets", 0, func(after int64) (ids []int64, err error) {
			page, err := s.Pets().List(t.Context(), pageQuery(after, 7))
			for _, pet := range page.Items {
				ids = append(ids, pet.ID)
			}
			return ids, err
		})
		follow("changes", position, func(after int64) (ids []int64, err error) {
			page, err := s.Changes().List(t.Context(), domain.PageRequest{After: after, Limit: 7})
			for _, change := range page.Items {
				ids = append(ids, change.Seq)
			}
			return ids, err
		})
	}
	testkit.Concurrently(t, callers, func(caller int) (_ bool, err error) {
		for range petsEach {
			err = errors.Join(err, stores[caller%len(stores)].InTx(t.Context(), Adding("Rex")))
		}
		return true, err
	})
	close(written)
	readers.Wait()
}

// followPages returns all ids. It reads each page after the last id of the previous page. It ends at an
// empty page that was read after written was closed.
func followPages(after int64, read func(after int64) ([]int64, error), written <-chan struct{}) (all []int64, err error) {
	for ended := false; ; {
		ids, err := read(after)
		if err != nil || ended && len(ids) == 0 {
			return all, err
		}
		if all = append(all, ids...); len(all) > 0 {
			after = all[len(all)-1]
		}
		select {
		case <-written:
			ended = true
		default:
		}
	}
}
