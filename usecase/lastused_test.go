package usecase_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

// keepUses has the uses written that were noted until now, and returns the failures.
func (r keyring) flush(t *testing.T) (failures []error) {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	end()
	r.FlushLastUsed(ended, time.Hour, func(err error) { failures = append(failures, err) })
	return failures
}

// lastUse is when the key with this id was last used, for all that the store knows.
func (r keyring) lastUse(t *testing.T, id int64) *time.Time {
	t.Helper()
	return must[[]domain.APIKey](t)(r.List(t.Context()))[id-1].LastUsedAt
}

func TestLastUseIsStoredOncePerInterval(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	secret := must[string](t)(r.Create(t.Context(), "till 1", 0))
	r.wantValid(t, true, secret)
	if last := r.lastUse(t, 1); last != nil {
		t.Errorf("the request itself wrote %v", last)
	}
	for _, use := range []struct{ at, kept time.Duration }{
		{0, 0},
		{domain.KeyUseInterval - time.Millisecond, 0},
		{domain.KeyUseInterval, domain.KeyUseInterval},
		{time.Hour, time.Hour},
	} {
		r.clock.time = *at(use.at)
		r.wantValid(t, true, secret)
		if failures := r.flush(t); failures != nil {
			t.Fatal(failures)
		}
		if last := r.lastUse(t, 1); last == nil || !last.Equal(*at(use.kept)) {
			t.Errorf("used at %v, kept is %v, want %v", use.at, last, at(use.kept))
		}
	}
}

func TestInvalidKeyHasNoLastUse(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	secret := must[string](t)(r.Create(t.Context(), "till 1", time.Hour))
	r.clock.time = *at(time.Hour)
	r.wantValid(t, false, secret, domain.GenerateKey())
	if failures := r.flush(t); failures != nil || r.lastUse(t, 1) != nil {
		t.Errorf("%v, last used %v", failures, r.lastUse(t, 1))
	}
}

func TestFailedFlushIsRepeated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	store := must[*repository.Store](t)(repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true}))
	defer func() { _ = store.Close() }()
	other := must[*sql.DB](t)(sql.Open("sqlite3", path))
	defer func() { _ = other.Close() }()

	c := &clock{noon}
	r := keyring{usecase.NewKeys(store, store.Keys(), c.now), c}
	r.wantValid(t, true, must[string](t)(r.Create(t.Context(), "till 1", 0)))
	must[sql.Result](t)(other.Exec("CREATE TRIGGER down BEFORE UPDATE ON api_keys BEGIN SELECT RAISE(ABORT, 'down'); END"))
	if failures := r.flush(t); len(failures) != 1 {
		t.Errorf("got the failures %v, want one", failures)
	}
	must[sql.Result](t)(other.Exec("DROP TRIGGER down"))
	if failures := r.flush(t); failures != nil || r.lastUse(t, 1) == nil {
		t.Errorf("%v, last used %v", failures, r.lastUse(t, 1))
	}
}

func TestLastUseIsStoredDuringRequests(t *testing.T) {
	t.Parallel()
	r := newKeys(t)
	secrets := []string{
		must[string](t)(r.Create(t.Context(), "till 1", 0)),
		must[string](t)(r.Create(t.Context(), "till 2", 0)),
	}
	ctx, end := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() { r.FlushLastUsed(ctx, time.Millisecond, func(err error) { t.Error(err) }) })
	for r.lastUse(t, 1) == nil || r.lastUse(t, 2) == nil {
		r.wantValid(t, true, secrets...)
	}
	end()
	wait.Wait()
}

// What nobody keeps must not grow without end.
func TestPendingUsesAreBounded(t *testing.T) {
	t.Parallel()
	const keys, bound = 1030, 1024
	store, c := open(t), &clock{noon}
	r := keyring{usecase.NewKeys(store, store.Keys(), c.now), c}
	var secrets []string
	err := store.InTx(t.Context(), func(ctx context.Context, repositories domain.Repositories) error {
		for range keys {
			secrets = append(secrets, domain.GenerateKey())
			key, err := domain.NewKey("till", secrets[len(secrets)-1], noon, 0)
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
	for _, want := range []int{bound, keys} {
		r.wantValid(t, true, secrets...)
		if failures := r.flush(t); failures != nil {
			t.Fatal(failures)
		}
		used := 0
		for _, key := range must[[]domain.APIKey](t)(r.List(t.Context())) {
			if key.LastUsedAt != nil {
				used++
			}
		}
		if used != want {
			t.Errorf("the uses of %d keys were kept, want %d", used, want)
		}
	}
}
