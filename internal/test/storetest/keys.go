package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

// addKey stores a key that was created at noon. It must get the id. It expires after lifetime, or never if
// that is zero.
func addKey(t *testing.T, s Store, id int64, lifetime time.Duration) apikey.Key {
	t.Helper()
	return storeKey(t, s, id, newKey(t, lifetime))
}

func newKey(t *testing.T, lifetime time.Duration) apikey.NewKey {
	t.Helper()
	key, err := apikey.New("till 1", apikey.Generate(), noon, lifetime)
	testkit.Check(t, err)
	return key
}

// storeKey stores a key that must get the id.
func storeKey(t *testing.T, s Store, id int64, key apikey.NewKey) apikey.Key {
	t.Helper()
	testkit.Equal(t, "whether the key was stored", true, createKey(t, s, key))
	return apikey.Key{
		ID: id, Name: key.Name, Hash: key.Hash, LastFour: key.LastFour, Scopes: key.Scopes, Lineage: cmp.Or(key.Lineage, id),
		CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt,
	}
}

// createKey reports whether it stored the key.
func createKey(t *testing.T, s Store, key apikey.NewKey) bool {
	t.Helper()
	return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) { return r.Keys.Create(ctx, key) })
}

// wantKeys compares the list of all keys with want, and each key by id.
func wantKeys(t *testing.T, s Store, want ...apikey.Key) {
	t.Helper()
	all := []apikey.Key{} // List returns an empty list, not nil, if there are no keys
	for _, key := range want {
		all = append(all, key)
		got := tx(t, s, func(ctx context.Context, r port.Repositories) (apikey.Key, error) { return r.Keys.Get(ctx, key.ID) })
		testkit.Equal(t, "Get", key, got)
	}
	list, err := s.Keys().List(t.Context())
	testkit.Equal(t, "List", all, list, err)
}

func keysAreReadAsCreated(t *testing.T, s Store) {
	wantKeys(t, s)
	anyKey := func() bool {
		return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) { return r.Keys.Any(ctx) })
	}
	testkit.Equal(t, "Any of an empty store", false, anyKey())
	unlimited, expiring, key := addKey(t, s, 1, 0), addKey(t, s, 2, time.Hour), newKey(t, 0)
	key.Scopes, key.Lineage = apikey.ReadOnly, 2
	readOnly := storeKey(t, s, 3, key)
	testkit.Equal(t, "Any of a store with keys", true, anyKey())
	again := apikey.NewKey{Name: "other", Hash: unlimited.Hash, LastFour: unlimited.LastFour, CreatedAt: noon.Add(time.Hour)}
	testkit.Equal(t, "whether a key with the same hash was stored", false, createKey(t, s, again))
	wantKeys(t, s, unlimited, expiring, readOnly)
	for _, key := range []apikey.Key{unlimited, expiring, readOnly, unlimited} { // the last one may be from memory
		found, err := s.Keys().FindByHash(t.Context(), key.Hash)
		testkit.Equal(t, "FindByHash", key, found, err)
	}
	for _, hash := range []apikey.Hash{{}, {1}} {
		_, err := s.Keys().FindByHash(t.Context(), hash)
		wantCode(t, err, domain.ErrUnauthenticated, "invalid_api_key")
	}
	for _, id := range []int64{4, 0, -1, math.MaxInt64} {
		err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			_, err := r.Keys.Get(ctx, id)
			return err
		})
		wantCode(t, err, domain.ErrNotFound, "")
	}
}

func keyIsEdited(t *testing.T, s Store) {
	edit := func(id int64, name string, scopes apikey.Scopes) bool {
		return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) {
			return r.Keys.Edit(ctx, id, name, scopes)
		})
	}
	edited, other := addKey(t, s, 1, time.Hour), addKey(t, s, 2, 0)
	wantKeys(t, s, edited, other)
	testkit.Equal(t, "edit of the name", true, edit(1, "till 2", ""))
	edited.Name = "till 2"
	wantKeys(t, s, edited, other)
	testkit.Equal(t, "edit of the scopes", true, edit(1, "", apikey.ReadOnly))
	edited.Scopes = apikey.ReadOnly
	wantKeys(t, s, edited, other)
	testkit.Equal(t, "edit of an unknown key", false, edit(3, "till 3", ""))
}

// revoke reports whether it revoked the key.
func revoke(t *testing.T, s Store, id int64, at time.Time) bool {
	t.Helper()
	return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) { return r.Keys.Revoke(ctx, id, at) })
}

// scheduleRevocation reports whether it scheduled the revocation of the key.
func scheduleRevocation(t *testing.T, s Store, id int64, now time.Time, overlap time.Duration) bool {
	t.Helper()
	return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) {
		return r.Keys.ScheduleRevocation(ctx, id, now, overlap)
	})
}

func keyIsRevokedAtEarliestTime(t *testing.T, s Store) {
	revoked, other := addKey(t, s, 1, 0), addKey(t, s, 2, 0)
	before, later, between := noon.Add(-time.Hour), noon.Add(time.Hour), noon.Add(time.Minute)
	for _, step := range []struct {
		at, want time.Time
		revoked  bool
	}{
		{later, later, true},
		{later, later, false},
		{later.Add(time.Millisecond), later, false},
		{before, noon, true}, // the clock was set back: the revocation is not before the creation
		{before, noon, false},
		{noon, noon, false},
		{between, noon, false},
	} {
		testkit.Equal(t, fmt.Sprintf("revoke at %v", step.at), step.revoked, revoke(t, s, 1, step.at))
		revoked.RevokedAt = &step.want
		wantKeys(t, s, revoked, other)
	}
	testkit.Equal(t, "revoke of an unknown key", false, revoke(t, s, 3, noon))
}

func revocationIsScheduledOnce(t *testing.T, s Store) {
	active, expiring, later := addKey(t, s, 1, 0), addKey(t, s, 2, time.Hour), addKey(t, s, 3, 0)
	before, end, last := noon.Add(-time.Hour), noon.Add(time.Hour), noon.Add(time.Hour-time.Millisecond)
	for _, step := range []struct {
		name      string
		id        int64
		now, at   time.Time
		scheduled bool
	}{
		{"expired", 2, end, end, false},
		{"about to expire", 2, last, end, true},
		{"active", 1, noon, end, true},
		{"about to be revoked", 1, noon, noon, false},
		{"revoked", 1, end, end, false},
		{"created after the time of a clock that was set back", 3, before, noon, true},
		{"unknown", 4, noon, end, false},
	} {
		got := scheduleRevocation(t, s, step.id, step.now, step.at.Sub(step.now))
		testkit.Equal(t, fmt.Sprintf("a key that is %s", step.name), step.scheduled, got)
	}
	active.RevokedAt, expiring.RevokedAt, later.RevokedAt = &end, &end, &end // an hour after the creation
	wantKeys(t, s, active, expiring, later)
}

func lastUseIsSetOncePerInterval(t *testing.T, s Store) {
	used, other := addKey(t, s, 1, 0), addKey(t, s, 2, 0)
	next := noon.Add(apikey.UseInterval)
	for _, step := range []struct{ at, want time.Time }{
		{noon.Add(-time.Hour), noon}, // the clock was set back: the use is not before the creation
		{next.Add(-time.Millisecond), noon},
		{noon.Add(-time.Hour), noon},
		{next, next},
		{noon, next},
	} {
		inTx(t, s, func(ctx context.Context, r port.Repositories) error {
			return r.Keys.SetLastUsed(ctx, 1, step.at)
		})
		used.LastUsedAt = &step.want
		wantKeys(t, s, used, other)
	}
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		return r.Keys.SetLastUsed(ctx, 3, noon)
	})
}
