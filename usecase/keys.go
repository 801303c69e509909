package usecase

import (
	"context"
	"time"

	"example.com/petstore/domain"
)

// Keys issues the API keys, ends them, and recognises them.
type Keys struct {
	tx   domain.Transactor
	keys domain.KeyReader
	now  func() time.Time
	uses keyUses
}

// NewKeys returns the keys of a store. now is the clock.
func NewKeys(tx domain.Transactor, keys domain.KeyReader, now func() time.Time) *Keys {
	return &Keys{tx: tx, keys: keys, now: now}
}

// List returns all keys, ascending by id.
func (k *Keys) List(ctx context.Context) ([]domain.APIKey, error) { return k.keys.List(ctx) }

// Create issues a key under a name, which expires after lifetime or, where that is
// zero, never. It returns the secret, which is shown this once and kept nowhere, or
// an ErrInvalid (validation_failed).
func (k *Keys) Create(ctx context.Context, name string, lifetime time.Duration) (secret string, err error) {
	secret = domain.GenerateKey()
	if err := k.keep(ctx, name, secret, lifetime); err != nil {
		return "", err
	}
	return secret, nil
}

// Ensure keeps a key whose secret was made elsewhere, under a name, unless it is
// kept already: one that was revoked stays revoked. It returns an ErrInvalid
// (validation_failed), among others for a secret that has not the form of a key.
func (k *Keys) Ensure(ctx context.Context, name, secret string) error {
	return k.keep(ctx, name, secret, 0)
}

func (k *Keys) keep(ctx context.Context, name, secret string, lifetime time.Duration) error {
	key, err := domain.NewKey(name, secret, k.now(), lifetime)
	if err != nil {
		return err
	}
	return k.tx.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Keys.Create(ctx, key)
		return err
	})
}

// CreateFirst is Create for a store that has no key yet; otherwise it issues none
// and returns an empty secret. Of two processes at once one issues the key.
func (k *Keys) CreateFirst(ctx context.Context, name string) (secret string, err error) {
	secret = domain.GenerateKey()
	key, err := domain.NewKey(name, secret, k.now(), 0)
	if err != nil {
		return "", err
	}
	first := false
	err = k.tx.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		exists, err := r.Keys.Any(ctx)
		if first = !exists; err != nil || !first {
			return err
		}
		_, err = r.Keys.Create(ctx, key)
		return err
	})
	if err != nil || !first {
		return "", err
	}
	return secret, nil
}

// Rotate issues a key in the place of another, which is revoked after the overlap,
// at once when that is zero. The new key has the old one's name and is given the
// same time to live. It returns the secret as Create does, or an ErrNotFound, an
// ErrConflict for a key that opens nothing or was rotated before, or an ErrInvalid
// (validation_failed) for the overlap.
func (k *Keys) Rotate(ctx context.Context, id int64, overlap time.Duration) (secret string, err error) {
	if err := domain.ValidateOverlap(overlap); err != nil {
		return "", err
	}
	secret = domain.GenerateKey()
	now := k.now()
	err = k.tx.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		retired, err := r.Keys.Retire(ctx, id, now, overlap)
		if err != nil {
			return err
		}
		old, err := r.Keys.Get(ctx, id)
		if err != nil {
			return err
		}
		if !retired {
			return old.NotRotatable(now)
		}
		successor, err := old.Successor(secret, now)
		if err != nil {
			return err
		}
		_, err = r.Keys.Create(ctx, successor)
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Revoke ends a key now, also one that a rotation would have ended later. To revoke
// again changes nothing. It returns an ErrNotFound.
func (k *Keys) Revoke(ctx context.Context, id int64) error {
	return k.tx.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		revoked, err := r.Keys.Revoke(ctx, id, k.now())
		if err == nil && !revoked {
			_, err = r.Keys.Get(ctx, id)
		}
		return err
	})
}

// Authenticate returns the key with this secret, or an ErrUnauthenticated
// (invalid_api_key), the same for a malformed, an unknown, a revoked and an expired
// one. A malformed one costs no query. That the key is used is noted, see KeepUses.
func (k *Keys) Authenticate(ctx context.Context, secret string) (domain.APIKey, error) {
	key, err := k.keys.Find(ctx, secret)
	if err != nil {
		return domain.APIKey{}, err
	}
	now := k.now()
	if !key.Usable(now) {
		return domain.APIKey{}, domain.InvalidAPIKey()
	}
	if key.UseIsNews(now) {
		k.uses.note(key.ID, now)
	}
	return key, nil
}
