package repository

import (
	"context"

	"github.com/maypok86/otter/v2"

	"example.com/petstore/domain"
)

// maxCachedKeys is the maximum number of cached API keys.
const maxCachedKeys = 10_000

// A keyCache is a domain.KeyReader that caches the keys that it finds, by hash. An entry
// is valid until any key changes, in this process or in another. An unknown key is not
// cached, so that a new key is valid immediately. LastUsedAt may be older than in the database.
type keyCache struct {
	domain.KeyReader
	versions *versions
	entries  *otter.Cache[domain.KeyHash, cachedKey]
}

// A cachedKey is a key with versions.keys as it was before the key was read.
type cachedKey struct {
	key     domain.APIKey
	version uint64
}

func newKeyCache(keys domain.KeyReader, v *versions) (*keyCache, error) {
	entries, err := otter.New(&otter.Options[domain.KeyHash, cachedKey]{
		MaximumSize: maxCachedKeys,
		Executor:    func(task func()) { task() }, // starts no goroutine
	})
	return &keyCache{KeyReader: keys, versions: v, entries: entries}, err
}

func (c *keyCache) FindByHash(ctx context.Context, hash domain.KeyHash) (domain.APIKey, error) {
	if err := c.versions.refresh(ctx); err != nil {
		return c.KeyReader.FindByHash(ctx, hash)
	}
	version := c.versions.keys.Load()
	if cached, ok := c.entries.GetIfPresent(hash); ok && cached.version == version {
		return cached.key, nil
	}
	key, err := c.KeyReader.FindByHash(ctx, hash)
	if err == nil {
		c.entries.Set(hash, cachedKey{key, version})
	}
	return key, err
}
