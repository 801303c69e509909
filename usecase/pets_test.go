package usecase_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/enginetest"
	"example.com/petstore/usecase"
)

var rex = domain.NewPet{Name: "Rex", CategoryID: 7, Status: domain.PetAvailable}

func newPets(store *repository.Store, c *clock) *usecase.Pets {
	return usecase.NewPets(store, store.Pets(), c.now)
}

// keyOf returns the idempotency key of a caller.
func keyOf(caller, value string) domain.IdempotencyKey {
	return domain.IdempotencyKey{Caller: caller, Value: value}
}

// wantPets compares the names of all pets with want.
func wantPets(t *testing.T, pets *usecase.Pets, want ...string) {
	t.Helper()
	page, err := pets.List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pet := range page.Items {
		got = append(got, pet.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pets (-want +got)\n%s", diff)
	}
}

func TestInvalidPetIsNotAdded(t *testing.T) {
	t.Parallel()
	pets := newPets(open(t), &clock{noon})
	_, _, err := pets.Create(t.Context(), domain.NewPet{Name: " "}, keyOf("1", "k"))
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed)
	_, _, err = pets.Create(t.Context(), rex, keyOf("1", "a b"))
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidIdempotencyKey)
	wantPets(t, pets)

	// A rejected request does not use its key.
	if _, replayed, err := pets.Create(t.Context(), rex, keyOf("1", "k")); replayed || err != nil {
		t.Errorf("got replayed %t and %v, want a new pet", replayed, err)
	}
}

func TestListRejectsLimitOutsideRange(t *testing.T) {
	t.Parallel()
	store := open(t)
	for _, limit := range []int{0, 101} {
		page := domain.PageRequest{Limit: limit}
		_, err := newPets(store, &clock{noon}).List(t.Context(), domain.PetQuery{PageRequest: page})
		wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter)
		_, err = usecase.NewOrders(store, store.Orders(), (&clock{noon}).now).List(t.Context(), domain.OrderQuery{PageRequest: page})
		wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter)
	}
}

func TestRetryAddsNothing(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	pets := newPets(open(t), c)
	add := func(pet domain.NewPet, key domain.IdempotencyKey) (domain.Pet, bool) {
		t.Helper()
		added, replayed, err := pets.Create(t.Context(), pet, key)
		if err != nil {
			t.Fatal(err)
		}
		return added, replayed
	}
	first, replayed := add(rex, keyOf("1", "k"))
	if replayed {
		t.Error("first request: got a replay")
	}
	c.time = noon.Add(port.IdempotencyTTL - 1e6)
	again, replayed := add(rex, keyOf("1", "k"))
	if diff := cmp.Diff(first, again); diff != "" || !replayed {
		t.Errorf("retry: got replayed %t, want true (-first +again)\n%s", replayed, diff)
	}
	_, _, err := pets.Create(t.Context(), domain.NewPet{Name: "Tom"}, keyOf("1", "k"))
	wantError(t, err, domain.ErrReused, "idempotency_key_reused")
	wantPets(t, pets, "Rex")

	if _, replayed := add(rex, keyOf("2", "k")); replayed {
		t.Error("key of another caller: got a replay")
	}
	if _, replayed := add(rex, domain.IdempotencyKey{}); replayed {
		t.Error("no key: got a replay")
	}
	c.time = noon.Add(port.IdempotencyTTL)
	if _, replayed := add(domain.NewPet{Name: "Tom"}, keyOf("1", "k")); replayed {
		t.Error("expired key: got a replay")
	}
	wantPets(t, pets, "Rex", "Rex", "Rex", "Tom")
}

// With an engine that allows concurrent writers, a claim may have no result yet.
func TestRetryOfRunningRequestIsRejected(t *testing.T) {
	t.Parallel()
	store := open(t)
	pets := newPets(store, &clock{noon})
	storeResult(t, store, nil)
	_, _, err := pets.Create(t.Context(), rex, keyOf("1", "copy"))
	wantError(t, err, domain.ErrConflict, "idempotency_in_progress")
	wantPets(t, pets, "Rex")
}

func TestInvalidStoredResultIsAnError(t *testing.T) {
	t.Parallel()
	store := open(t)
	pets := newPets(store, &clock{noon})
	storeResult(t, store, []byte("{"))
	_, replayed, err := pets.Create(t.Context(), rex, keyOf("1", "copy"))
	var known *domain.Error
	if err == nil || errors.As(err, &known) || replayed {
		t.Errorf("got %v, replayed %t, want an error other than a domain.Error", err, replayed)
	}
}

// storeResult adds rex with the key k, and stores a result of the same request with the key
// copy.
func storeResult(t *testing.T, store *repository.Store, result []byte) {
	t.Helper()
	if _, _, err := newPets(store, &clock{noon}).Create(t.Context(), rex, keyOf("1", "k")); err != nil {
		t.Fatal(err)
	}
	err := store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		first, _, err := r.Idempotency.Claim(ctx, port.Claim{IdempotencyKey: keyOf("1", "k"), At: noon})
		return errors.Join(err, r.Idempotency.Complete(ctx, port.Claim{IdempotencyKey: keyOf("1", "copy"), Fingerprint: first.Fingerprint, At: noon}, result))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkCreate measures Pets.Create with 64 concurrent callers per processor.
func BenchmarkCreate(b *testing.B) {
	for name, key := range map[string]func(n int64) domain.IdempotencyKey{
		"without key": func(int64) domain.IdempotencyKey { return domain.IdempotencyKey{} },
		"with key": func(n int64) domain.IdempotencyKey {
			return domain.IdempotencyKey{Caller: "1", Value: "bench-" + strconv.FormatInt(n, 10)}
		},
	} {
		b.Run(name, func(b *testing.B) {
			store, err := repository.Open(b.Context(), enginetest.New(b).Engine(), repository.Options{Migrate: true})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			pets := usecase.NewPets(store, store.Pets(), time.Now)
			var count atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					pet := domain.NewPet{Name: "Rex", CategoryID: 7, Status: domain.PetAvailable}
					if _, _, err := pets.Create(b.Context(), pet, key(count.Add(1))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
