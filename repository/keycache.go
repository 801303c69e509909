package repository

import (
	"context"
	"errors"
	"time"

	"github.com/maypok86/otter/v2"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
)

const (
	// maxCachedKeys is the maximum number of cached API keys.
	maxCachedKeys = 10_000
	// MaxKeyAge is how long a key is used without a query. So a revoked key stops working within a second, also for a
	// stream, which checks its key twice a second.
	MaxKeyAge = 400 * time.Millisecond
)

// A keyCache is a port.KeyReader that remembers the keys that it finds, by hash. An unknown key is not remembered, so
// that a new key is valid immediately. While the database is unavailable, a key is used for staleIfUnavailable.
type keyCache struct {
	port.KeyReader
	staleIfUnavailable time.Duration
	entries            *otter.Cache[apikey.Hash, foundKey]
}

// A foundKey is a key, and the time before it was read.
type foundKey struct {
	key apikey.Key
	at  time.Time
}

func newKeyCache(keys port.KeyReader, staleIfUnavailable time.Duration) (*keyCache, error) {
	entries, err := otter.New(&otter.Options[apikey.Hash, foundKey]{
		MaximumSize: maxCachedKeys,
		Executor:    func(task func()) { task() }, // without an Executor, otter would start a goroutine
	})
	return &keyCache{keys, staleIfUnavailable, entries}, err
}

func (c *keyCache) FindByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	now := time.Now() //nolint:forbidigo // compared with an age
	known, ok := c.entries.GetIfPresent(hash)
	if ok && now.Sub(known.at) < MaxKeyAge {
		return known.key, nil
	}
	key, err := c.KeyReader.FindByHash(ctx, hash)
	switch {
	case err == nil:
		c.entries.Set(hash, foundKey{key, now})
	case ok && errors.Is(err, domain.ErrUnavailable) && now.Sub(known.at) < c.staleIfUnavailable:
		return known.key, nil
	}
	return key, err
}
