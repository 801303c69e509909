package usecase

import (
	"context"
	"time"

	"example.com/petstore/domain"
)

// Keys issues the API keys and recognises them.
type Keys struct {
	tx   domain.Transactor
	keys domain.KeyReader
	now  func() time.Time
}

// NewKeys returns the keys of a store. now is the clock.
func NewKeys(tx domain.Transactor, keys domain.KeyReader, now func() time.Time) *Keys {
	return &Keys{tx: tx, keys: keys, now: now}
}

// Create issues a key under a name and returns its secret, which is shown this
// once and kept nowhere. It returns an ErrInvalid (validation_failed) for a bad name.
func (k *Keys) Create(ctx context.Context, name string) (secret string, err error) {
	return k.issue(ctx, name, func(context.Context, domain.KeyRepository) (bool, error) { return true, nil })
}

// CreateFirst is Create for a store that has no key yet; otherwise it issues
// none and returns an empty secret. Of two processes at once one issues the key.
func (k *Keys) CreateFirst(ctx context.Context, name string) (secret string, err error) {
	return k.issue(ctx, name, func(ctx context.Context, keys domain.KeyRepository) (bool, error) {
		exists, err := keys.Any(ctx)
		return !exists, err
	})
}

func (k *Keys) issue(ctx context.Context, name string, wanted func(context.Context, domain.KeyRepository) (bool, error)) (string, error) {
	secret := domain.GenerateKey()
	key, err := domain.NewKey(name, secret, k.now())
	if err != nil {
		return "", err
	}
	issued := false
	err = k.tx.InTx(ctx, func(ctx context.Context, r domain.Repositories) error {
		if issued, err = wanted(ctx, r.Keys); err != nil || !issued {
			return err
		}
		_, err := r.Keys.Create(ctx, key)
		return err
	})
	if err != nil || !issued {
		return "", err
	}
	return secret, nil
}

// Authenticate returns the key with this secret, or an ErrUnauthenticated
// (invalid_api_key), the same for a malformed, an unknown, a revoked and an
// expired one. A malformed one costs no query.
func (k *Keys) Authenticate(ctx context.Context, secret string) (domain.APIKey, error) {
	hash, ok := domain.HashKey(secret)
	if !ok {
		return domain.APIKey{}, domain.InvalidAPIKey()
	}
	key, err := k.keys.Find(ctx, hash)
	if err != nil {
		return domain.APIKey{}, err
	}
	if !key.Usable(k.now()) {
		return domain.APIKey{}, domain.InvalidAPIKey()
	}
	return key, nil
}
