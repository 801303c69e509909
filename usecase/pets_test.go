package usecase_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
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

func TestInvalidPetIsNotAdded(t *testing.T) {
	t.Parallel()
	store := open(t)
	pets := newPets(store, &clock{noon})
	for _, name := range []string{"", "\u2003\u00a0", "a\x00", "not UTF-8: \xff", "a\uffff", "\U0010fffea"} { // FuzzCreatePet has more
		_, _, err := pets.Create(t.Context(), domain.NewPet{Name: name, Status: "Sold"}, keyOf("1", "k"))
		wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed, "name "+domain.PetNameRule+"; status "+domain.PetStatusRule)
	}
	_, _, err := pets.Create(t.Context(), rex, keyOf("1", "a b"))
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidIdempotencyKey, "Idempotency-Key must be 1 to 255 visible ASCII characters")
	wantNames(t, store)

	// A rejected request does not use its key.
	if _, replayed, err := pets.Create(t.Context(), rex, keyOf("1", "k")); replayed || err != nil {
		t.Errorf("got replayed %t and %v, want a new pet", replayed, err)
	}
}

func TestListRejectsInvalidQuery(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for limit, valid := range map[int]bool{-1: false, 0: false, 1: true, 100: true, 101: false} {
		page := domain.PageRequest{Limit: limit}
		_, err := s.pets.List(t.Context(), domain.PetQuery{PageRequest: page, Status: domain.PetSold})
		_, changesErr := usecase.NewChanges(s.store, s.store.Changes(), time.Now, 0).List(t.Context(), page)
		_, orderErr := s.orders.List(t.Context(), domain.OrderQuery{PageRequest: page, Status: domain.OrderCancelled})
		if valid && (err != nil || orderErr != nil || !errors.Is(changesErr, domain.ErrUnavailable)) { // none are recorded
			t.Errorf("limit %d: got %v, %v and %v, want no errors", limit, err, orderErr, changesErr)
		}
		if !valid {
			wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100")
			wantError(t, changesErr, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100")
			wantError(t, orderErr, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100")
		}
	}
	_, err := s.pets.List(t.Context(), domain.PetQuery{Status: "lost"})
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100; status "+domain.PetStatusRule)
	_, err = s.orders.List(t.Context(), domain.OrderQuery{Status: "sold"})
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100; status "+domain.OrderStatusRule)
}

func TestRetryAddsNothing(t *testing.T) {
	t.Parallel()
	store, c := open(t), &clock{noon}
	pets := newPets(store, c)
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
	wantNames(t, store, "Rex")

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
	wantNames(t, store, "Rex", "Rex", "Rex", "Tom")
}

// With an engine that allows concurrent writers, a claim may have no result yet.
func TestRetryWithoutAStoredPetIsRejected(t *testing.T) {
	t.Parallel()
	for result, check := range map[string]func(error){
		"": func(err error) { wantError(t, err, domain.ErrConflict, "idempotency_in_progress") },
		"{": func(err error) {
			if known, ok := errors.AsType[*domain.Error](err); err == nil || ok {
				t.Errorf("got %v, %v, want an error other than a domain.Error", err, known)
			}
		},
	} {
		store := open(t)
		pets := newPets(store, &clock{noon})
		if _, _, err := pets.Create(t.Context(), rex, keyOf("1", "k")); err != nil {
			t.Fatal(err)
		}
		err := store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			first, _, err := r.Idempotency.Claim(ctx, port.Claim{IdempotencyKey: keyOf("1", "k"), At: noon})
			claim := port.Claim{IdempotencyKey: keyOf("1", "copy"), Fingerprint: first.Fingerprint, At: noon}
			var stored []byte
			if result != "" {
				stored = []byte(result)
			}
			return errors.Join(err, r.Idempotency.Complete(ctx, claim, stored))
		})
		if err != nil {
			t.Fatal(err)
		}
		_, replayed, err := pets.Create(t.Context(), rex, keyOf("1", "copy"))
		if check(err); replayed {
			t.Errorf("the result %q was replayed", result)
		}
		wantNames(t, store, "Rex")
	}
}

// The next version of the program reads the results that once stores, and compares the
// fingerprint of the values of a request. Do not change an expected text: a new field of
// domain.NewPet has the tag json:",omitempty", or retries of requests before an upgrade would be
// rejected, and a renamed one would make them return zero values.
func TestStoredResultsStayReadable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value any
		want  string
	}{
		{domain.NewPet{Name: "Rex", CategoryID: 7, Status: domain.PetSold}, `{"Name":"Rex","CategoryID":7,"Status":"sold"}`},
		{domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, `{"ID":1,"Name":"Rex","CategoryID":7,"Status":""}`},
		{int64(42), `42`},
		{
			domain.Order{ID: 1, PetID: 2, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon},
			`{"ID":1,"PetID":2,"Status":"placed","CreatedAt":"2026-11-20T12:00:00Z","UpdatedAt":"2026-11-20T12:00:00Z"}`,
		},
	} {
		got, err := json.Marshal(test.value)
		if err != nil || string(got) != test.want {
			t.Errorf("got %s and %v, want %s", got, err, test.want)
		}
	}
}
