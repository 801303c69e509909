package usecase_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/repository"
	"example.com/petstore/repository/enginetest"
	"example.com/petstore/usecase"
)

// A keysTest is a usecase.Keys with its clock.
type keysTest struct {
	*usecase.Keys
	store *repository.Store
	clock *clock
}

// newKeysTest returns the keys of a new store, at noon.
func newKeysTest(t *testing.T) keysTest {
	t.Helper()
	return newKeysTestOf(t, enginetest.New(t))
}

func newKeysTestOf(t *testing.T, database enginetest.Database) keysTest {
	t.Helper()
	store, c := openDatabase(t, database), &clock{noon}
	return keysTest{usecase.NewKeys(store, store.Keys(), c.now), store, c}
}

// wantValid checks whether Authenticate accepts each secret.
func (k keysTest) wantValid(t *testing.T, want bool, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		_, err := k.Authenticate(t.Context(), secret)
		if !want {
			if diff := cmp.Diff(apikey.Invalid(), err); diff != "" { // the same for all
				t.Errorf("error (-want +got)\n%s", diff)
			}
		} else if err != nil {
			t.Errorf("at %v: got %v, want no error", k.clock.time, err)
		}
	}
}

func (k keysTest) revoke(t *testing.T, id int64) {
	t.Helper()
	if err := k.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// wantKeys compares the list of all keys with want, except for their secrets.
func (k keysTest) wantKeys(t *testing.T, want ...apikey.Key) {
	t.Helper()
	got, err := k.List(t.Context())
	ignoreSecret := cmpopts.IgnoreFields(apikey.Key{}, "Hash", "LastFour")
	if diff := cmp.Diff(want, got, ignoreSecret); err != nil || diff != "" {
		t.Errorf("List: %v (-want +got)\n%s", err, diff)
	}
}

// noonPlus returns noon plus d.
func noonPlus(d time.Duration) *time.Time {
	t := noon.Add(d)
	return &t
}

func TestInvalidKeysReturnOneError(t *testing.T) {
	t.Parallel()
	k := newKeysTest(t)
	secret := must[string](t)(k.Create(t.Context(), "till 1", 0))
	expired := must[string](t)(k.Create(t.Context(), "till 2", time.Hour))
	revoked := must[string](t)(k.Create(t.Context(), "till 3", 0))
	k.wantValid(t, true, secret, expired, revoked)
	k.revoke(t, 3)
	k.revoke(t, 3) // a repeated call changes nothing
	k.clock.time = *noonPlus(time.Hour)
	k.wantValid(t, false, "", secret[1:], secret[:57], strings.ToLower(secret), apikey.Generate(), expired, revoked)
	k.wantValid(t, true, secret)
}

// A closed store fails any query.
func TestMalformedKeyIsRejectedWithoutQuery(t *testing.T) {
	t.Parallel()
	k := newKeysTest(t)
	if err := k.store.Close(); err != nil {
		t.Fatal(err)
	}
	k.wantValid(t, false, "petstore_"+strings.Repeat("0", 49))
	_, err := k.Authenticate(t.Context(), apikey.Generate())
	wantError(t, err, domain.ErrUnavailable, domain.CodeUnavailable)
}

func TestCreateRejectsInvalidNameAndFirstKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	k := newKeysTest(t)
	secret, err := k.Create(t.Context(), " ", 0)
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed)
	if secret != "" {
		t.Error("got a secret with the error")
	}
	for _, want := range []bool{true, false} {
		if first := must[string](t)(k.CreateFirst(t.Context(), "first")); (first != "") != want {
			t.Errorf("got a first key: %t, want %t", first != "", want)
		}
	}
}

func TestImportedKeyIsStoredOnce(t *testing.T) {
	t.Parallel()
	k := newKeysTest(t)
	wantError(t, k.Import(t.Context(), "bootstrap", "secret"), domain.ErrInvalid, domain.CodeValidationFailed)
	secret := apikey.Generate()
	for i, want := range []bool{true, true, false} {
		k.clock.time = *noonPlus(time.Duration(i) * time.Hour)
		if !want {
			k.revoke(t, 1)
		}
		if err := k.Import(t.Context(), "bootstrap", secret); err != nil {
			t.Fatal(err)
		}
		if k.wantValid(t, want, secret); want {
			k.wantKeys(t, apikey.Key{ID: 1, Name: "bootstrap", CreatedAt: noon})
		}
	}
}

func TestRotatedKeyIsValidDuringOverlap(t *testing.T) {
	t.Parallel()
	k := newKeysTest(t)
	old := must[string](t)(k.CreateReadOnly(t.Context(), "till 1", 48*time.Hour))
	k.clock.time = *noonPlus(time.Hour)
	successor := must[string](t)(k.Rotate(t.Context(), 1, 24*time.Hour))
	if key := must[apikey.Key](t)(k.Authenticate(t.Context(), successor)); key.ID != 2 || !strings.HasSuffix(successor, key.LastFour) {
		t.Errorf("got %+v, want the id 2 and the last characters of the secret", key)
	}
	k.wantKeys(t,
		apikey.Key{ID: 1, Name: "till 1", ReadOnly: true, CreatedAt: noon, ExpiresAt: noonPlus(48 * time.Hour), RevokedAt: noonPlus(25 * time.Hour)},
		apikey.Key{ID: 2, Name: "till 1", ReadOnly: true, CreatedAt: *noonPlus(time.Hour), ExpiresAt: noonPlus(49 * time.Hour)},
	)
	k.clock.time = *noonPlus(25*time.Hour - time.Millisecond)
	k.wantValid(t, true, old, successor)
	k.clock.time = *noonPlus(25 * time.Hour)
	k.wantValid(t, false, old)
	k.wantValid(t, true, successor)

	last := must[string](t)(k.Rotate(t.Context(), 2, 0))
	k.wantValid(t, false, old, successor)
	k.wantValid(t, true, last)
}

func TestRotationWhoseKeyIsNotStoredRevokesNothing(t *testing.T) {
	t.Parallel()
	database := enginetest.New(t)
	if database.Driver != enginetest.SQLite {
		return // the trigger is one of SQLite, and the engine does not matter
	}
	k := newKeysTestOf(t, database)
	old := must[string](t)(k.Create(t.Context(), "till 1", 0))
	database.Exec(t, "CREATE TRIGGER full BEFORE INSERT ON api_keys BEGIN SELECT RAISE(ABORT, 'full'); END")
	if successor, err := k.Rotate(t.Context(), 1, 0); err == nil || successor != "" {
		t.Errorf("got the key %q and error %v, want an error", successor, err)
	}
	k.wantValid(t, true, old)
}

func TestActiveKeyIsRotatedOnce(t *testing.T) {
	t.Parallel()
	k := newKeysTest(t)
	for _, name := range []string{"revoked", "expired", "rotated"} {
		must[string](t)(k.Create(t.Context(), name, time.Hour))
	}
	k.revoke(t, 1)
	must[string](t)(k.Rotate(t.Context(), 3, apikey.MaxSpan))
	wantError(t, k.Revoke(t.Context(), 5), domain.ErrNotFound, "")
	const overlapRule = "overlap must be 0 to 3650 days"
	for name, test := range map[string]struct {
		id      int64
		overlap time.Duration
		at      time.Duration
		kind    domain.Kind
		code    domain.Code
		message string
	}{
		"revoked":  {1, 0, 0, domain.ErrConflict, "", "the API key with the id 1 is revoked and cannot be rotated"},
		"rotated":  {3, 0, 0, domain.ErrConflict, "", "the API key with the id 3 is about to be revoked and cannot be rotated"},
		"unknown":  {5, 0, 0, domain.ErrNotFound, "", ""},
		"negative": {4, -1, 0, domain.ErrInvalid, domain.CodeValidationFailed, overlapRule},
		"too long": {4, apikey.MaxSpan + 1, 0, domain.ErrInvalid, domain.CodeValidationFailed, overlapRule},
		"expired":  {2, 0, time.Hour, domain.ErrConflict, "", "the API key with the id 2 is expired and cannot be rotated"},
	} {
		k.clock.time = *noonPlus(test.at)
		secret, err := k.Rotate(t.Context(), test.id, test.overlap)
		if wantError(t, err, test.kind, test.code, test.message); secret != "" {
			t.Errorf("%s: got a secret with the error", name)
		}
	}
	if all := must[[]apikey.Key](t)(k.List(t.Context())); len(all) != 4 {
		t.Errorf("got %d keys, want 4", len(all))
	}
}
