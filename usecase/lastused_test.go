package usecase_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/enginetest"
)

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
