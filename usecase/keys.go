package usecase

import (
	"cmp"
	"context"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
)

// Keys issues, revokes and authenticates API keys.
type Keys struct {
	tx       port.Transactor
	keys     port.KeyReader
	now      func() time.Time
	lastUsed lastUsedTracker
}

// NewKeys returns Keys of a store. now is the clock.
func NewKeys(tx port.Transactor, keys port.KeyReader, now func() time.Time) *Keys {
	return &Keys{tx: tx, keys: keys, now: now}
}

// List returns all keys, ascending by id.
func (k *Keys) List(ctx context.Context) ([]apikey.Key, error) { return k.keys.List(ctx) }

// Create issues a key, which expires after lifetime, or never if lifetime is zero, and may do what the scopes allow, or
// everything if they are empty. Create returns the secret, which is not stored, or an ErrInvalid (validation_failed).
func (k *Keys) Create(ctx context.Context, name string, lifetime time.Duration, scopes apikey.Scopes) (secret string, err error) {
	secret = apikey.Generate()
	if err := k.createWithSecret(ctx, name, secret, lifetime, scopes); err != nil {
		return "", err
	}
	return secret, nil
}

// Import stores a key with an existing secret, unless it is already stored: a revoked key
// stays revoked. Import returns an ErrInvalid (validation_failed), also for a secret that
// does not have the format of a key.
func (k *Keys) Import(ctx context.Context, name, secret string) error {
	return k.createWithSecret(ctx, name, secret, 0, "")
}

func (k *Keys) createWithSecret(ctx context.Context, name, secret string, lifetime time.Duration, scopes apikey.Scopes) error {
	key, err := apikey.New(name, secret, k.now(), lifetime)
	if err = cmp.Or(err, scopes.Validate()); err != nil {
		return err
	}
	key.Scopes = scopes
	return k.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Create(ctx, key)
		return err
	})
}

// CreateFirst issues a key that never expires if the store has never had a key; otherwise
// it returns an empty secret. Only one of several concurrent calls issues a key, in all
// processes.
func (k *Keys) CreateFirst(ctx context.Context, name string) (secret string, err error) {
	secret = apikey.Generate()
	key, err := apikey.New(name, secret, k.now(), 0)
	if err != nil {
		return "", err
	}
	first := false
	err = k.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
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

// Rotate issues a key with the name and lifetime of another, which is revoked after
// overlap. It has the scopes of the other. Rotate returns the secret, which is not
// stored, or an ErrNotFound, an ErrConflict for a key that is not valid or was rotated
// before, or an ErrInvalid (validation_failed) for the overlap.
func (k *Keys) Rotate(ctx context.Context, id int64, overlap time.Duration) (secret string, err error) {
	if err := apikey.ValidateOverlap(overlap); err != nil {
		return "", err
	}
	secret = apikey.Generate()
	now := k.now()
	err = k.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		scheduled, err := r.Keys.ScheduleRevocation(ctx, id, now, overlap)
		if err != nil {
			return err
		}
		old, err := r.Keys.Get(ctx, id)
		if err != nil {
			return err
		}
		if !scheduled {
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

// Revoke revokes a key now, also one whose revocation is scheduled. A repeated call changes
// nothing. Revoke returns an ErrNotFound for an unknown key.
func (k *Keys) Revoke(ctx context.Context, id int64) error {
	return k.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		revoked, err := r.Keys.Revoke(ctx, id, k.now())
		if err == nil && !revoked {
			_, err = r.Keys.Get(ctx, id)
		}
		return err
	})
}

// Authenticate returns the key with this secret, or an ErrUnauthenticated
// (invalid_api_key), for which clients get the same response if the key is malformed, unknown,
// revoked or expired. With the error it returns a revoked or an expired key, for the log. It
// rejects a malformed key without a query. It records the use of the key, see FlushLastUsed.
func (k *Keys) Authenticate(ctx context.Context, secret string) (apikey.Key, error) {
	hash, ok := apikey.HashOf(secret)
	if !ok {
		return apikey.Key{}, apikey.Invalid(nil)
	}
	key, err := k.keys.FindByHash(ctx, hash)
	if err != nil {
		return apikey.Key{}, err
	}
	now := k.now()
	if state := key.State(now); state != apikey.Active {
		return key, apikey.Invalid(state)
	}
	if key.NeedsLastUsedUpdate(now) {
		k.lastUsed.record(key.ID, now)
	}
	return key, nil
}
