package repository

import (
	"context"
	"errors"
	"time"

	"github.com/maypok86/otter/v2"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/freshness"
)

const (
	// maxCachedKeys is the maximum number of cached API keys.
	maxCachedKeys = 10_000
	// keyTimeout is how long a query for a key may take. The deadline of the request may be later. With
	// Options.StaleIfUnavailable, checkTimeout applies instead.
	keyTimeout = 5 * time.Second
	// MaxKeyAge is how long a key may be used after another process has changed it. A revoked key stops
	// working within a second, also for a stream, which checks its key twice a second.
	MaxKeyAge = 400 * time.Millisecond
)

// A keyCache is a port.KeyReader that caches the keys that it finds, by hash. An entry is valid until any
// key changes, in this process or in another. An unknown key is not cached, so that a new key is valid
// immediately. The LastUsedAt of an entry may be older than in the database.
//
// While the database is unavailable, an entry stays valid for staleIfUnavailable, unless this process knows
// of a later change of a key.
type keyCache struct {
	port.KeyReader
	versions           *freshness.Versions
	staleIfUnavailable time.Duration
	entries            *otter.Cache[apikey.Hash, cachedKey]
}

// A cachedKey is a key and the version of the keys before the key was read.
type cachedKey struct {
	key     apikey.Key
	version uint64
}

func newKeyCache(keys port.KeyReader, v *freshness.Versions, staleIfUnavailable time.Duration) (*keyCache, error) {
	entries, err := otter.New(&otter.Options[apikey.Hash, cachedKey]{
		MaximumSize: maxCachedKeys,
		Executor:    func(task func()) { task() }, // without an Executor, otter would start a goroutine
	})
	return &keyCache{keys, v, staleIfUnavailable, entries}, err
}

func (c *keyCache) FindByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	unchecked := c.versions.Refresh(ctx, MaxKeyAge)
	age, version := c.versions.Age(), c.versions.Keys() // read in this order, so that the numbers are at least as new as age says
	cached, ok := c.entries.GetIfPresent(hash)
	ok = ok && cached.version == version
	if ok && unchecked == nil {
		return cached.key, nil
	}
	key, err := c.find(ctx, hash)
	if ok && errors.Is(err, domain.ErrUnavailable) && age < c.staleIfUnavailable {
		return cached.key, nil
	}
	if err == nil && unchecked == nil {
		c.entries.Set(hash, cachedKey{key, version})
	}
	return key, err
}

func (c *keyCache) find(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	timeout := keyTimeout
	if c.staleIfUnavailable > 0 {
		timeout = checkTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.KeyReader.FindByHash(ctx, hash)
}
