package storetest

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/petstore/domain"
)

// exceptLastUsedAt ignores what FindByHash may return late.
var exceptLastUsedAt = cmpopts.IgnoreFields(domain.APIKey{}, "LastUsedAt")

// keep keeps a key that was made at noon and lives for a time, or for ever, as the
// key with that id.
func keep(t *testing.T, s Store, id int64, lifetime time.Duration) domain.APIKey {
	t.Helper()
	secret := domain.GenerateKey()
	key, err := domain.NewKey("till 1", secret, noon, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	if !create(t, s, key) {
		t.Fatal("a new key was not kept")
	}
	return domain.APIKey{
		ID: id, Name: key.Name, Hash: key.Hash, LastFour: key.LastFour,
		CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt,
	}
}

func create(t *testing.T, s Store, key domain.NewAPIKey) (created bool) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r domain.Repositories) (err error) {
		created, err = r.Keys.Create(ctx, key)
		return err
	})
	return created
}

// wantKeys expects these keys in the list, and each under its secret and its id.
func wantKeys(t *testing.T, s Store, want ...domain.APIKey) {
	t.Helper()
	all := []domain.APIKey{}
	for _, key := range want {
		all = append(all, key)
		found, err := s.Keys().FindByHash(t.Context(), key.Hash)
		if diff := cmp.Diff(key, found, exceptLastUsedAt); err != nil || diff != "" {
			t.Errorf("found %v (-want +got)\n%s", err, diff)
		}
		inTx(t, s, func(ctx context.Context, r domain.Repositories) error {
			got, err := r.Keys.Get(ctx, key.ID)
			if diff := cmp.Diff(key, got); diff != "" {
				t.Errorf("got (-want +got)\n%s", diff)
			}
			return err
		})
	}
	list, err := s.Keys().List(t.Context())
	if diff := cmp.Diff(all, list); err != nil || diff != "" {
		t.Errorf("listed %v (-want +got)\n%s", err, diff)
	}
}

func keysAreReadAsCreated(t *testing.T, s Store) {
	wantKeys(t, s)
	exists := func() (exists bool) {
		inTx(t, s, func(ctx context.Context, r domain.Repositories) (err error) {
			exists, err = r.Keys.Any(ctx)
			return err
		})
		return exists
	}
	if exists() {
		t.Error("an empty store has a key")
	}
	forEver, forAWhile := keep(t, s, 1, 0), keep(t, s, 2, time.Hour)
	if !exists() {
		t.Error("a store with keys has none")
	}
	wantKeys(t, s, forEver, forAWhile)
}

func unknownKeyIsNotFound(t *testing.T, s Store) {
	keep(t, s, 1, 0)
	for _, hash := range []domain.KeyHash{{}, {1}} {
		_, err := s.Keys().FindByHash(t.Context(), hash)
		wantError(t, err, domain.ErrUnauthenticated, domain.CodeInvalidAPIKey)
	}
	for _, id := range []int64{2, 0, -1, math.MaxInt64} {
		err := s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
			_, err := r.Keys.Get(ctx, id)
			return err
		})
		wantError(t, err, domain.ErrNotFound, "")
	}
}

func keyIsStoredOnce(t *testing.T, s Store) {
	kept := keep(t, s, 1, 0)
	again := domain.NewAPIKey{Name: "other", Hash: kept.Hash, LastFour: kept.LastFour, CreatedAt: noon.Add(time.Hour)}
	if create(t, s, again) {
		t.Error("a hash was kept twice")
	}
	wantKeys(t, s, kept)
}

// revoke reports whether it revoked the key.
func revoke(t *testing.T, s Store, id int64, at time.Time) (done bool) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r domain.Repositories) (err error) {
		done, err = r.Keys.Revoke(ctx, id, at)
		return err
	})
	return done
}

// schedule reports whether it scheduled the revocation of the key.
func schedule(t *testing.T, s Store, id int64, now time.Time, overlap time.Duration) (done bool) {
	t.Helper()
	inTx(t, s, func(ctx context.Context, r domain.Repositories) (err error) {
		done, err = r.Keys.ScheduleRevocation(ctx, id, now, overlap)
		return err
	})
	return done
}

func keyIsRevokedAtEarliestTime(t *testing.T, s Store) {
	revoked, other := keep(t, s, 1, 0), keep(t, s, 2, 0)
	later, between := noon.Add(time.Hour), noon.Add(time.Minute)
	for _, step := range []struct {
		at, stands time.Time
		done       bool
	}{
		{later, later, true},
		{later, later, false},
		{later.Add(time.Millisecond), later, false},
		{noon, noon, true},
		{between, noon, false},
		{noon, noon, false},
	} {
		if done := revoke(t, s, 1, step.at); done != step.done {
			t.Errorf("revoked at %v: %t, want %t", step.at, done, step.done)
		}
		revoked.RevokedAt = &step.stands
		wantKeys(t, s, revoked, other)
	}
	if revoke(t, s, 3, noon) {
		t.Error("a key that does not exist was revoked")
	}
}

func revocationIsScheduledOnce(t *testing.T, s Store) {
	active, expiring := keep(t, s, 1, 0), keep(t, s, 2, time.Hour)
	end, last := noon.Add(time.Hour), noon.Add(time.Hour-time.Millisecond)
	for _, step := range []struct {
		name    string
		id      int64
		now, at time.Time
		done    bool
	}{
		{"expired", 2, end, end, false},
		{"about to expire", 2, last, end, true},
		{"active", 1, noon, end, true},
		{"about to be revoked", 1, noon, noon, false},
		{"revoked", 1, end, end, false},
		{"unknown", 3, noon, end, false},
	} {
		if done := schedule(t, s, step.id, step.now, step.at.Sub(step.now)); done != step.done {
			t.Errorf("a key that is %s was retired: %t", step.name, done)
		}
	}
	active.RevokedAt, expiring.RevokedAt = &end, &end
	wantKeys(t, s, active, expiring)
}

func lastUseIsSetOncePerInterval(t *testing.T, s Store) {
	used, other := keep(t, s, 1, 0), keep(t, s, 2, 0)
	next := noon.Add(domain.KeyUseInterval)
	for _, step := range []struct{ at, stands time.Time }{
		{noon, noon},
		{next.Add(-time.Millisecond), noon},
		{noon.Add(-time.Hour), noon},
		{next, next},
		{noon, next},
	} {
		inTx(t, s, func(ctx context.Context, r domain.Repositories) error {
			return r.Keys.SetLastUsed(ctx, 1, step.at)
		})
		used.LastUsedAt = &step.stands
		wantKeys(t, s, used, other)
	}
	inTx(t, s, func(ctx context.Context, r domain.Repositories) error {
		return r.Keys.SetLastUsed(ctx, 3, noon)
	})
}

func keyTimesAreNotBeforeItsCreation(t *testing.T, s Store) {
	revoked, rotated, overlapping := keep(t, s, 1, 0), keep(t, s, 2, 0), keep(t, s, 3, 0)
	behind := noon.Add(-time.Hour)
	inTx(t, s, func(ctx context.Context, r domain.Repositories) error { return r.Keys.SetLastUsed(ctx, 1, behind) })
	for _, want := range []bool{true, false} {
		if done := revoke(t, s, 1, behind); done != want {
			t.Errorf("revoked: %t, want %t", done, want)
		}
	}
	if !schedule(t, s, 2, behind, 0) || !schedule(t, s, 3, behind, time.Minute) {
		t.Error("the revocation of an active key was not scheduled")
	}
	end := noon.Add(time.Minute)
	revoked.LastUsedAt, revoked.RevokedAt, rotated.RevokedAt, overlapping.RevokedAt = &noon, &noon, &noon, &end
	wantKeys(t, s, revoked, rotated, overlapping)
	for _, now := range []time.Time{behind, noon.Add(-time.Second)} {
		if revoked.Usable(now) || rotated.Usable(now) || !overlapping.Usable(now) {
			t.Errorf("at %v: %s, %s, %s", now, revoked.State(now), rotated.State(now), overlapping.State(now))
		}
	}
}
