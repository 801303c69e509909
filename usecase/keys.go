package usecase

import (
	"cmp"
	"context"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/port"
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

// Create issues a key. It expires after lifetime, or never if lifetime is zero. It allows the operations of scopes; empty
// scopes allow every operation. Create returns the secret, which is not stored, or an ErrInvalid (validation_failed).
func (k *Keys) Create(ctx context.Context, name string, lifetime time.Duration, scopes apikey.Scopes) (secret string, err error) {
	secret = apikey.Generate()
	if err := k.createWithSecret(ctx, name, secret, lifetime, scopes); err != nil {
		return "", err
	}
	return secret, nil
}

// Import stores a key with a secret that the caller has. The key never expires and allows every operation. If the
// key is already stored, Import changes nothing: a revoked key stays revoked. Import returns an ErrInvalid
// (validation_failed) for an invalid name or if the secret does not have the format of a key.
func (k *Keys) Import(ctx context.Context, name, secret string) error {
	return k.createWithSecret(ctx, name, secret, 0, "")
}

func (k *Keys) createWithSecret(ctx context.Context, name, secret string, lifetime time.Duration, scopes apikey.Scopes) error {
	key, err := apikey.New(name, secret, k.now(), lifetime)
	if err = cmp.Or(err, scopes.Validate()); err != nil {
		return err
	}
	key.Scopes = scopes.Canonical()
	return k.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Create(ctx, key)
		return err
	})
}

// CreateFirst issues a key if the store has never had one, and returns its secret; otherwise it returns an empty secret.
// The key never expires and allows every operation. Of several concurrent calls, also in several processes, only one
// issues a key.
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

// Rotate issues a key with the name, the lifetime and the scopes of an old key, and revokes the old key after overlap.
// It returns the secret of the new key, which is not stored. It returns an ErrNotFound for an unknown key, an ErrConflict
// if the old key is not valid or was rotated before, or an ErrInvalid (validation_failed) for the overlap.
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

// Edit changes the name and the scopes of a key. An empty name and empty scopes stay as they are. Edit returns an
// ErrNotFound for an unknown key, or an ErrInvalid (validation_failed).
func (k *Keys) Edit(ctx context.Context, id int64, name string, scopes apikey.Scopes) error {
	if name != "" && !apikey.ValidName(name) {
		return domain.Invalid(domain.CodeValidationFailed, domain.Violation{Field: "name", Rule: apikey.NameRule})
	}
	if err := scopes.Validate(); err != nil {
		return err
	}
	return k.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		exists, err := r.Keys.Edit(ctx, id, name, scopes.Canonical())
		if err == nil && !exists {
			err = apikey.NotFound(id)
		}
		return err
	})
}

// Revoke revokes a key now, even if its revocation is already scheduled for later. A repeated call changes nothing.
// Revoke returns an ErrNotFound for an unknown key.
func (k *Keys) Revoke(ctx context.Context, id int64) error {
	return k.tx.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		revoked, err := r.Keys.Revoke(ctx, id, k.now())
		if err == nil && !revoked {
			_, err = r.Keys.Get(ctx, id)
		}
		return err
	})
}

// Authenticate returns the key with a secret, and records its use (see FlushLastUsed). If the key is malformed, unknown,
// revoked or expired, it returns an ErrUnauthenticated (invalid_api_key), which does not tell clients the reason. For the
// log, a revoked or expired key is returned with the error. A malformed key is rejected without a query.
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
