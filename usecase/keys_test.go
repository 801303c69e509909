package usecase_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/test/testkit"
)

// createKey returns the secret of a new key.
func (s *testStore) createKey(t *testing.T, name string, lifetime time.Duration) string {
	t.Helper()
	return must[string](t)(s.keys.Create(t.Context(), name, lifetime, ""))
}

// wantValid checks that Authenticate accepts each secret, or rejects each one. A store remembers a key for
// repository.MaxKeyAge.
func (s *testStore) wantValid(t *testing.T, want bool, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		_, err := s.keys.Authenticate(t.Context(), secret)
		if want {
			if err != nil {
				t.Errorf("at %v: got %v, want no error", s.now, err)
			}
			continue
		}
		testkit.WaitUntilWithin(t, 5*time.Second, "the key is rejected", func() bool {
			_, err = s.keys.Authenticate(t.Context(), secret)
			return err != nil
		})
		if diff := cmp.Diff(apikey.Invalid(nil), err, cmpopts.IgnoreFields(domain.Error{}, "Cause")); diff != "" { // the same response for all
			t.Errorf("error (-want +got)\n%s", diff)
		}
	}
}

func TestInvalidKeysReturnOneError(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	secret, expired, revoked := s.createKey(t, "till 1", 0), s.createKey(t, "till 2", time.Hour), s.createKey(t, "till 3", 0)
	s.wantValid(t, true, secret, expired, revoked)
	for range 2 { // a repeated call changes nothing
		check(t, s.keys.Revoke(t.Context(), 3))
	}
	wantError(t, s.keys.Revoke(t.Context(), 4), domain.ErrNotFound, "")
	s.now = noon.Add(time.Hour)
	s.wantValid(t, false, "", secret[1:], secret[:57], strings.ToLower(secret), apikey.Generate(), expired, revoked)
	s.wantValid(t, true, secret)

	check(t, s.Close())
	s.wantValid(t, false, "petstore_"+strings.Repeat("0", 49)) // a malformed key is rejected without a query, which would fail
	_, err := s.keys.Authenticate(t.Context(), apikey.Generate())
	wantError(t, err, domain.ErrUnavailable, domain.CodeUnavailable)
}

func TestFirstOrImportedKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	none, err := s.keys.Create(t.Context(), " ", 0, "")
	if wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed); none != "" {
		t.Error("got a secret with the error")
	}
	for _, want := range []bool{true, false} {
		if first := must[string](t)(s.keys.CreateFirst(t.Context(), "first")); (first != "") != want {
			t.Errorf("got a first key: %t, want %t", first != "", want)
		}
	}
	wantError(t, s.keys.Import(t.Context(), "bootstrap", "secret"), domain.ErrInvalid, domain.CodeValidationFailed)
	secret := apikey.Generate()
	for range 2 {
		check(t, s.keys.Import(t.Context(), "bootstrap", secret))
		s.wantValid(t, true, secret)
	}
	want := []apikey.Key{{ID: 1, Name: "first", Lineage: 1, CreatedAt: noon}, {ID: 2, Name: "bootstrap", Lineage: 2, CreatedAt: noon}}
	all := must[[]apikey.Key](t)(s.keys.List(t.Context()))
	if diff := cmp.Diff(want, all, cmpopts.IgnoreFields(apikey.Key{}, "Hash", "LastFour", "LastUsedAt")); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
	check(t, s.keys.Revoke(t.Context(), 2))
	check(t, s.keys.Import(t.Context(), "bootstrap", secret))
	s.wantValid(t, false, secret)
}

func TestKeyMayDoWhatItsScopesAllow(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	_, err := s.keys.Create(t.Context(), "till 1", 0, "pets:read,pets:delete")
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed, "scope "+apikey.ScopesRule)
	for _, scopes := range []apikey.Scopes{"", apikey.ReadOnly} {
		secret := must[string](t)(s.keys.Create(t.Context(), "till 1", 0, scopes))
		if key := must[apikey.Key](t)(s.keys.Authenticate(t.Context(), secret)); key.Scopes != scopes {
			t.Errorf("got the scopes %q, want %q", key.Scopes, scopes)
		}
	}
}

func TestKeyHasEachScopeOnce(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	must[string](t)(s.keys.Create(t.Context(), "till 1", 0, "changes:read,pets:read,pets:read,orders:read"))
	must[string](t)(s.keys.Create(t.Context(), "till 2", 0, ""))
	check(t, s.keys.Edit(t.Context(), 2, "public page", "pets:read,pets:read"))
	for _, invalid := range []error{s.keys.Edit(t.Context(), 2, "", "pets:delete"), s.keys.Edit(t.Context(), 2, "\n", "")} {
		if !errors.Is(invalid, domain.ErrInvalid) {
			t.Errorf("got %v, want %v", invalid, domain.ErrInvalid)
		}
	}
	if err := s.keys.Edit(t.Context(), 3, "till 3", ""); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("unknown key: got %v, want %v", err, domain.ErrNotFound)
	}
	got := map[string]apikey.Scopes{}
	for _, key := range must[[]apikey.Key](t)(s.keys.List(t.Context())) {
		got[key.Name] = key.Scopes
	}
	if diff := cmp.Diff(map[string]apikey.Scopes{"till 1": apikey.ReadOnly, "public page": "pets:read"}, got); diff != "" {
		t.Errorf("scopes (-want +got)\n%s", diff)
	}
}

func TestRotatedKeyIsValidDuringOverlap(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	old := must[string](t)(s.keys.Create(t.Context(), "till 1", 48*time.Hour, "orders:read,orders:write"))
	s.now = noon.Add(time.Hour)
	successor := must[string](t)(s.keys.Rotate(t.Context(), 1, 24*time.Hour))
	want := []apikey.Key{
		{
			ID: 1, Name: "till 1", Scopes: "orders:read,orders:write", Lineage: 1, CreatedAt: noon, ExpiresAt: noonPlus(48 * time.Hour),
			RevokedAt: noonPlus(25 * time.Hour),
		},
		{ID: 2, Name: "till 1", Scopes: "orders:read,orders:write", Lineage: 1, CreatedAt: *noonPlus(time.Hour), ExpiresAt: noonPlus(49 * time.Hour)},
	}
	all := must[[]apikey.Key](t)(s.keys.List(t.Context()))
	if diff := cmp.Diff(want, all, cmpopts.IgnoreFields(apikey.Key{}, "Hash", "LastFour")); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
	s.now = noon.Add(25*time.Hour - time.Millisecond)
	s.wantValid(t, true, old)
	if key := must[apikey.Key](t)(s.keys.Authenticate(t.Context(), successor)); key.ID != 2 || !strings.HasSuffix(successor, key.LastFour) {
		t.Errorf("got %+v, want the id 2 and the last characters of the secret", key)
	}
	s.now = noon.Add(25 * time.Hour)
	s.wantValid(t, false, old)

	last := must[string](t)(s.keys.Rotate(t.Context(), 2, 0))
	s.wantValid(t, false, old, successor)
	s.wantValid(t, true, last)
}

func TestRotationWhoseKeyIsNotStoredRevokesNothing(t *testing.T) {
	t.Parallel()
	s := newTestStoreOf(t, sqliteDatabase(t)) // the trigger is one of SQLite
	old := s.createKey(t, "till 1", 0)
	s.database.Exec(t, "CREATE TRIGGER full BEFORE INSERT ON api_keys BEGIN SELECT RAISE(ABORT, 'full'); END")
	if successor, err := s.keys.Rotate(t.Context(), 1, 0); err == nil || successor != "" {
		t.Errorf("got the key %q and error %v, want an error", successor, err)
	}
	s.wantValid(t, true, old)
}

func TestActiveKeyIsRotatedOnce(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for _, name := range []string{"revoked", "expired", "rotated"} {
		s.createKey(t, name, time.Hour)
	}
	check(t, s.keys.Revoke(t.Context(), 1))
	must[string](t)(s.keys.Rotate(t.Context(), 3, apikey.MaxSpan))
	const overlapRule = "overlap must be 0 to 3650 days"
	for _, test := range []struct {
		id      int64
		overlap time.Duration
		at      time.Duration
		kind    domain.Kind
		code    domain.Code
		message string
	}{
		{id: 1, kind: domain.ErrConflict, message: "the API key with the id 1 is revoked and cannot be rotated"},
		{id: 3, kind: domain.ErrConflict, message: "the API key with the id 3 is about to be revoked and cannot be rotated"},
		{id: 5, kind: domain.ErrNotFound},
		{id: 4, overlap: -1, kind: domain.ErrInvalid, code: domain.CodeValidationFailed, message: overlapRule},
		{id: 4, overlap: apikey.MaxSpan + 1, kind: domain.ErrInvalid, code: domain.CodeValidationFailed, message: overlapRule},
		{id: 2, at: time.Hour, kind: domain.ErrConflict, message: "the API key with the id 2 is expired and cannot be rotated"},
	} {
		s.now = noon.Add(test.at)
		secret, err := s.keys.Rotate(t.Context(), test.id, test.overlap)
		if wantError(t, err, test.kind, test.code, test.message); secret != "" {
			t.Errorf("key %d: got a secret with the error", test.id)
		}
	}
	if all := must[[]apikey.Key](t)(s.keys.List(t.Context())); len(all) != 4 {
		t.Errorf("got %d keys, want 4", len(all))
	}
}

// flush writes the recorded uses and returns the errors.
func (s *testStore) flush(t *testing.T) (err error) {
	t.Helper()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	s.keys.FlushLastUsed(canceled, time.Hour, func(failure error) { err = errors.Join(err, failure) })
	return err
}

// lastUse returns the stored time of the last use of a key, or nil if it was not used.
func (s *testStore) lastUse(t *testing.T, id int64) *time.Time {
	t.Helper()
	return must[[]apikey.Key](t)(s.keys.List(t.Context()))[id-1].LastUsedAt
}

func TestLastUseIsStoredOncePerInterval(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	secret, expired := s.createKey(t, "till 1", 0), s.createKey(t, "till 2", time.Minute)
	s.wantValid(t, true, secret)
	if last := s.lastUse(t, 1); last != nil {
		t.Errorf("before the flush: got %v, want nil", last)
	}
	s.database.Exec(t, "ALTER TABLE api_keys RENAME TO removed")
	if s.flush(t) == nil {
		t.Error("without the table: got no error")
	}
	s.database.Exec(t, "ALTER TABLE removed RENAME TO api_keys")
	for i, use := range []struct{ at, want time.Duration }{
		{0, 0}, // without another use: the write that failed is repeated
		{apikey.UseInterval - time.Millisecond, 0},
		{apikey.UseInterval, apikey.UseInterval},
		{time.Hour, time.Hour},
	} {
		if s.now = noon.Add(use.at); i > 0 {
			s.wantValid(t, true, secret)
		}
		check(t, s.flush(t))
		if last := s.lastUse(t, 1); last == nil || !last.Equal(*noonPlus(use.want)) {
			t.Errorf("used at %v: got %v, want %v", use.at, last, noonPlus(use.want))
		}
	}
	s.wantValid(t, false, expired, apikey.Generate())
	if check(t, s.flush(t)); s.lastUse(t, 2) != nil {
		t.Errorf("got the last use %v of an expired key, want none", s.lastUse(t, 2))
	}
}

func TestLastUseIsStoredDuringRequests(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	secret := s.createKey(t, "till 1", 0)
	ctx, cancel := context.WithCancel(t.Context())
	var flushing sync.WaitGroup
	defer flushing.Wait()
	defer cancel()
	flushing.Go(func() {
		s.keys.FlushLastUsed(ctx, time.Millisecond, func(err error) {
			if err != nil {
				t.Error(err)
			}
		})
	})
	for s.lastUse(t, 1) == nil {
		s.wantValid(t, true, secret)
	}
}
