package usecase_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/petstore/domain"
	"example.com/petstore/usecase"
)

// A keyring is the keys of a store of the test's own, at noon.
type keyring struct {
	*usecase.Keys
	clock *clock
}

func newKeys(t *testing.T) keyring {
	t.Helper()
	store, c := open(t), &clock{noon}
	return keyring{usecase.NewKeys(store, store.Keys(), c.now), c}
}

// wantValid expects of each secret whether it opens the store.
func (r keyring) wantValid(t *testing.T, want bool, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		_, err := r.Authenticate(t.Context(), secret)
		if !want {
			wantError(t, err, domain.ErrUnauthenticated, domain.CodeInvalidAPIKey)
		} else if err != nil {
			t.Errorf("at %v: %v", r.clock.time, err)
		}
	}
}

// wantKeys expects these keys in the list, whatever their secrets.
func (r keyring) wantKeys(t *testing.T, want ...domain.APIKey) {
	t.Helper()
	got, err := r.List(t.Context())
	secret := cmpopts.IgnoreFields(domain.APIKey{}, "Hash", "LastFour")
	if diff := cmp.Diff(want, got, secret); err != nil || diff != "" {
		t.Errorf("listed %v (-want +got)\n%s", err, diff)
	}
}

// at is a moment as far from noon.
func at(d time.Duration) *time.Time {
	t := noon.Add(d)
	return &t
}

func TestCreatedKeyIsValidAtOnce(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	secret := must[string](t)(r.Create(t.Context(), "till 1", time.Hour))
	key := must[domain.APIKey](t)(r.Authenticate(t.Context(), secret))
	if key.ID != 1 || !strings.HasSuffix(secret, key.LastFour) {
		t.Errorf("got %+v", key)
	}
	r.wantKeys(t, domain.APIKey{ID: 1, Name: "till 1", CreatedAt: noon, ExpiresAt: at(time.Hour)})
}

func TestInvalidKeysReturnOneError(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	secret := must[string](t)(r.Create(t.Context(), "till 1", 0))
	expired := must[string](t)(r.Create(t.Context(), "till 2", time.Hour))
	revoked := must[string](t)(r.Create(t.Context(), "till 3", 0))
	r.wantValid(t, true, secret, expired, revoked)
	if err := r.Revoke(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	r.clock.time = *at(time.Hour)
	r.wantValid(t, false, "", secret[1:], secret[:57], strings.ToLower(secret), domain.GenerateKey(), expired, revoked)
	r.wantValid(t, true, secret)
}

// A closed store answers no query, so whatever is refused here cost none.
func TestMalformedKeyNeedsNoQuery(t *testing.T) {
	t.Parallel()
	store := open(t)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	keys := usecase.NewKeys(store, store.Keys(), (&clock{noon}).now)
	_, err := keys.Authenticate(t.Context(), "petstore_"+strings.Repeat("0", 49))
	wantError(t, err, domain.ErrUnauthenticated, domain.CodeInvalidAPIKey)
	if _, err := keys.Authenticate(t.Context(), domain.GenerateKey()); err == nil {
		t.Error("a well-formed key was judged without the store")
	}
}

func TestUnavailableStoreIsNotAnInvalidKey(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := r.Authenticate(ended, domain.GenerateKey())
	wantError(t, err, domain.ErrUnavailable, domain.CodeUnavailable)
}

func TestCreateRejectsInvalidName(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	secret, err := r.Create(t.Context(), " ", 0)
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed)
	if secret != "" {
		t.Error("a secret came with the error")
	}
	if first := must[string](t)(r.CreateFirst(t.Context(), "first")); first == "" {
		t.Error("a key stands in the store")
	}
}

func TestFirstKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	var issued atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			secret, err := r.CreateFirst(t.Context(), "first")
			if err != nil {
				t.Error(err)
			}
			if secret != "" {
				issued.Add(1)
			}
		})
	}
	wait.Wait()
	if issued.Load() != 1 {
		t.Errorf("%d first keys were issued", issued.Load())
	}
}

func TestImportedKeyIsStoredOnce(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	wantError(t, r.Import(t.Context(), "bootstrap", "secret"), domain.ErrInvalid, domain.CodeValidationFailed)
	secret := domain.GenerateKey()
	ensure := func() {
		t.Helper()
		if err := r.Import(t.Context(), "bootstrap", secret); err != nil {
			t.Fatal(err)
		}
	}
	ensure()
	r.clock.time = *at(time.Hour)
	ensure()
	r.wantValid(t, true, secret)
	r.wantKeys(t, domain.APIKey{ID: 1, Name: "bootstrap", CreatedAt: noon})

	if err := r.Revoke(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ensure()
	r.wantValid(t, false, secret)
}

func TestRotatedKeyIsValidDuringOverlap(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	old := must[string](t)(r.Create(t.Context(), "till 1", 48*time.Hour))
	r.clock.time = *at(time.Hour)
	successor := must[string](t)(r.Rotate(t.Context(), 1, 24*time.Hour))
	r.wantKeys(t,
		domain.APIKey{ID: 1, Name: "till 1", CreatedAt: noon, ExpiresAt: at(48 * time.Hour), RevokedAt: at(25 * time.Hour)},
		domain.APIKey{ID: 2, Name: "till 1", CreatedAt: *at(time.Hour), ExpiresAt: at(49 * time.Hour)},
	)
	r.clock.time = *at(25*time.Hour - time.Millisecond)
	r.wantValid(t, true, old, successor)
	r.clock.time = *at(25 * time.Hour)
	r.wantValid(t, false, old)
	r.wantValid(t, true, successor)

	last := must[string](t)(r.Rotate(t.Context(), 2, 0))
	r.wantValid(t, false, old, successor)
	r.wantValid(t, true, last)
}

func TestActiveKeyIsRotatedOnce(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	for _, name := range []string{"revoked", "expired", "rotated"} {
		must[string](t)(r.Create(t.Context(), name, time.Hour))
	}
	if err := r.Revoke(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	must[string](t)(r.Rotate(t.Context(), 3, 24*time.Hour))
	for name, test := range map[string]struct {
		id      int64
		overlap time.Duration
		at      time.Duration
		kind    domain.Kind
		code    domain.Code
	}{
		"revoked":  {1, 0, 0, domain.ErrConflict, ""},
		"rotated":  {3, 0, 0, domain.ErrConflict, ""},
		"unknown":  {5, 0, 0, domain.ErrNotFound, ""},
		"backward": {4, -1, 0, domain.ErrInvalid, domain.CodeValidationFailed},
		"too long": {4, domain.MaxKeySpan + 1, 0, domain.ErrInvalid, domain.CodeValidationFailed},
		"expired":  {2, 0, time.Hour, domain.ErrConflict, ""},
	} {
		r.clock.time = *at(test.at)
		secret, err := r.Rotate(t.Context(), test.id, test.overlap)
		if wantError(t, err, test.kind, test.code); secret != "" {
			t.Errorf("%s: a secret came with the error", name)
		}
	}
	if all := must[[]domain.APIKey](t)(r.List(t.Context())); len(all) != 4 {
		t.Errorf("%d keys were issued, want 4", len(all))
	}
}

func TestOneOfConcurrentRotationsSucceeds(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	must[string](t)(r.Create(t.Context(), "till 1", 0))
	var won atomic.Int32
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, err := r.Rotate(t.Context(), 1, time.Hour); err == nil {
				won.Add(1)
			} else if !errors.Is(err, domain.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if all := must[[]domain.APIKey](t)(r.List(t.Context())); won.Load() != 1 || len(all) != 2 {
		t.Errorf("%d rotations won and %d keys stand in the store, want 1 and 2", won.Load(), len(all))
	}
}

func TestRepeatedRevocationKeepsFirstTime(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	secret := must[string](t)(r.Create(t.Context(), "till 1", 0))
	for _, offset := range []time.Time{noon, *at(time.Hour)} {
		r.clock.time = offset
		if err := r.Revoke(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		r.wantValid(t, false, secret)
		r.wantKeys(t, domain.APIKey{ID: 1, Name: "till 1", CreatedAt: noon, RevokedAt: at(0)})
	}
	wantError(t, r.Revoke(t.Context(), 2), domain.ErrNotFound, "")
}

func TestRevocationPrecedesScheduledOne(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	old := must[string](t)(r.Create(t.Context(), "till 1", 0))
	successor := must[string](t)(r.Rotate(t.Context(), 1, 24*time.Hour))
	r.clock.time = *at(time.Hour)
	if err := r.Revoke(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.wantValid(t, false, old)
	r.wantValid(t, true, successor)
	r.wantKeys(t,
		domain.APIKey{ID: 1, Name: "till 1", CreatedAt: noon, RevokedAt: at(time.Hour)},
		domain.APIKey{ID: 2, Name: "till 1", CreatedAt: noon},
	)
}

// A clock may be behind the one that a key was created by.
func TestRevocationHoldsWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	revoked := must[string](t)(r.Create(t.Context(), "till 1", 0))
	rotated := must[string](t)(r.Create(t.Context(), "till 2", 0))
	overlapping := must[string](t)(r.Create(t.Context(), "till 3", 0))
	r.clock.time = *at(-time.Hour)
	if err := r.Revoke(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	successor := must[string](t)(r.Rotate(t.Context(), 2, 0))
	must[string](t)(r.Rotate(t.Context(), 3, time.Minute))
	for _, offset := range []time.Duration{-2 * time.Hour, -time.Hour, 0, time.Hour} {
		r.clock.time = *at(offset)
		r.wantValid(t, false, revoked, rotated)
		r.wantValid(t, true, successor)
		r.wantValid(t, offset <= 0, overlapping)
	}
	r.wantKeys(t,
		domain.APIKey{ID: 1, Name: "till 1", CreatedAt: noon, RevokedAt: at(0)},
		domain.APIKey{ID: 2, Name: "till 2", CreatedAt: noon, RevokedAt: at(0)},
		domain.APIKey{ID: 3, Name: "till 3", CreatedAt: noon, RevokedAt: at(time.Minute)},
		domain.APIKey{ID: 4, Name: "till 2", CreatedAt: *at(-time.Hour)},
		domain.APIKey{ID: 5, Name: "till 3", CreatedAt: *at(-time.Hour)},
	)
}
