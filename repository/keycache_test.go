package repository_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
)

// creatingKey returns a function that creates the first key, and the hash of the key.
func creatingKey(t *testing.T) (txFunc, apikey.Hash) {
	t.Helper()
	key, err := apikey.New("till 1", apikey.Generate(), time.UnixMilli(0), 0)
	check(t, err)
	return func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Create(ctx, key)
		return err
	}, key.Hash
}

// renaming changes a key without MarkKeysChanged, so that the cache does not know of the change.
var renaming = executing("UPDATE api_keys SET name = 'till 2'")

func wantKeyName(t *testing.T, s *repository.Store, hash apikey.Hash, want string) apikey.Key {
	t.Helper()
	key, err := s.Keys().FindByHash(t.Context(), hash)
	testkit.Equal(t, "the name of the key", want, key.Name, err)
	return key
}

func TestCachedKeyIsUsedUntilAKeyChanges(t *testing.T) {
	t.Parallel()
	s := open(t, checking(newEngine(t), unchanged), repository.Options{})
	create, hash := creatingKey(t)
	inTx(t, s, create)
	wantKeyName(t, s, hash, "till 1")
	inTx(t, s, renaming)
	wantKeyName(t, s, hash, "till 1") // the name in the cache
	at := time.UnixMilli(1)
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.ScheduleRevocation(ctx, 1, at, time.Millisecond)
		return err
	})
	if key := wantKeyName(t, s, hash, "till 2"); !key.Usable(at) || key.Usable(at.Add(time.Millisecond)) {
		t.Errorf("got the key %+v, want that its revocation is scheduled", key)
	}
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Revoke(ctx, 1, at)
		return err
	})
	testkit.Equal(t, "whether the key is usable", false, wantKeyName(t, s, hash, "till 2").Usable(at))
}

// An awayDatabase is a database that is unavailable while away is true.
type awayDatabase struct {
	engine.Database
	away *atomic.Bool
}

func (awayDatabase) PollInterval() time.Duration { return 0 }

func (d awayDatabase) PollChanges(context.Context) (changes engine.Changes, err error) {
	if d.away.Load() {
		err = errFailure
	}
	return changes, err
}

func (d awayDatabase) ReadContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if d.away.Load() {
		cancel()
	}
	return ctx, cancel
}

func TestCachedKeyIsUsedForATimeWhileTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stale   time.Duration
		revoked bool
		valid   bool
	}{
		{stale: time.Minute, valid: true},
		{stale: 0},
		{stale: 1},
		{stale: time.Minute, revoked: true},
	} {
		var away atomic.Bool
		e := wrapped{newEngine(t), func(d engine.Database) engine.Database { return awayDatabase{d, &away} }}
		s := open(t, e, repository.Options{StaleIfUnavailable: test.stale})
		create, hash := creatingKey(t)
		inTx(t, s, create)
		wantKeyName(t, s, hash, "till 1")
		inTx(t, s, renaming)
		if test.revoked {
			inTx(t, s, func(ctx context.Context, r port.Repositories) error {
				_, err := r.Keys.Revoke(ctx, 1, time.UnixMilli(1))
				return err
			})
		}
		away.Store(true)
		time.Sleep(repository.MaxKeyAge) // after that, the last check is too old
		if test.valid {
			wantKeyName(t, s, hash, "till 1")
		} else {
			_, err := s.Keys().FindByHash(t.Context(), hash)
			testkit.WantError(t, "FindByHash", err, domain.ErrUnavailable)
		}
		away.Store(false)
		wantKeyName(t, s, hash, map[bool]string{false: "till 1", true: "till 2"}[test.revoked]) // the key is read again after the revocation
	}
}

// A key that another process creates can be used immediately.
func TestUnknownKeyIsNotCached(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	s, other := open(t, checking(e, unchanged), repository.Options{}), open(t, e, repository.Options{})
	create, hash := creatingKey(t)
	_, err := s.Keys().FindByHash(t.Context(), hash)
	testkit.WantError(t, "FindByHash", err, domain.ErrUnauthenticated)
	inTx(t, other, create)
	wantKeyName(t, s, hash, "till 1")
}

func TestKeyIsReadWhileVersionsAreUnknown(t *testing.T) {
	t.Parallel()
	s := open(t, checking(newEngine(t), failed), repository.Options{})
	create, hash := creatingKey(t)
	inTx(t, s, create)
	wantKeyName(t, s, hash, "till 1")
	inTx(t, s, renaming)
	wantKeyName(t, s, hash, "till 2")
}
