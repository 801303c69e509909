package usecase_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
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

// flush writes the recorded uses and returns the errors.
func (k keysTest) flush(t *testing.T) (failures []error) {
	t.Helper()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	k.FlushLastUsed(canceled, time.Hour, func(err error) {
		if err != nil {
			failures = append(failures, err)
		}
	})
	return failures
}

// storedLastUse returns the stored time of the last use of a key, nil for none.
func (k keysTest) storedLastUse(t *testing.T, id int64) *time.Time {
	t.Helper()
	return must[[]apikey.Key](t)(k.List(t.Context()))[id-1].LastUsedAt
}

func TestLastUseIsStoredOncePerInterval(t *testing.T) {
	t.Parallel()
	k := newKeysTest(t)
	secret := must[string](t)(k.Create(t.Context(), "till 1", 0))
	expired := must[string](t)(k.Create(t.Context(), "till 2", time.Minute))
	k.wantValid(t, true, secret)
	if last := k.storedLastUse(t, 1); last != nil {
		t.Errorf("before the flush: got %v, want nil", last)
	}
	for _, use := range []struct{ at, want time.Duration }{
		{0, 0},
		{apikey.UseInterval - time.Millisecond, 0},
		{apikey.UseInterval, apikey.UseInterval},
		{time.Hour, time.Hour},
	} {
		k.clock.time = *noonPlus(use.at)
		k.wantValid(t, true, secret)
		if failures := k.flush(t); failures != nil {
			t.Fatal(failures)
		}
		if last := k.storedLastUse(t, 1); last == nil || !last.Equal(*noonPlus(use.want)) {
			t.Errorf("used at %v: got %v, want %v", use.at, last, noonPlus(use.want))
		}
	}
	k.wantValid(t, false, expired, apikey.Generate())
	if failures := k.flush(t); failures != nil || k.storedLastUse(t, 2) != nil {
		t.Errorf("got the failures %v and the last use %v of an expired key, want none", failures, k.storedLastUse(t, 2))
	}
}

func TestFailedFlushIsRetried(t *testing.T) {
	t.Parallel()
	database := enginetest.New(t)
	k := newKeysTestOf(t, database)
	k.wantValid(t, true, must[string](t)(k.Create(t.Context(), "till 1", 0)))
	database.Exec(t, "ALTER TABLE api_keys RENAME TO removed")
	if failures := k.flush(t); len(failures) != 1 {
		t.Errorf("got the failures %v, want one", failures)
	}
	database.Exec(t, "ALTER TABLE removed RENAME TO api_keys")
	if failures := k.flush(t); failures != nil || k.storedLastUse(t, 1) == nil {
		t.Errorf("got the failures %v and the last use %v, want no failure and a use", failures, k.storedLastUse(t, 1))
	}
}

func TestLastUseIsStoredDuringRequests(t *testing.T) {
	t.Parallel()
	k := newKeysTest(t)
	secrets := []string{
		must[string](t)(k.Create(t.Context(), "till 1", 0)),
		must[string](t)(k.Create(t.Context(), "till 2", 0)),
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		k.FlushLastUsed(ctx, time.Millisecond, func(err error) {
			if err != nil {
				t.Error(err)
			}
		})
	})
	for k.storedLastUse(t, 1) == nil || k.storedLastUse(t, 2) == nil {
		k.wantValid(t, true, secrets...)
	}
	cancel()
	wait.Wait()
}

// Uses that are not written must not use memory without limit.
func TestPendingUsesAreLimited(t *testing.T) {
	t.Parallel()
	const keys, limit = 1030, 1024
	k := newKeysTest(t)
	var secrets []string
	err := k.store.InTx(t.Context(), func(ctx context.Context, repositories port.Repositories) error {
		for range keys {
			secrets = append(secrets, apikey.Generate())
			key, err := apikey.New("till", secrets[len(secrets)-1], noon, 0)
			if err != nil {
				return err
			}
			if _, err := repositories.Keys.Create(ctx, key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{limit, keys} {
		k.wantValid(t, true, secrets...)
		if failures := k.flush(t); failures != nil {
			t.Fatal(failures)
		}
		used := 0
		for _, key := range must[[]apikey.Key](t)(k.List(t.Context())) {
			if key.LastUsedAt != nil {
				used++
			}
		}
		if used != want {
			t.Errorf("got last uses of %d keys, want %d", used, want)
		}
	}
}
