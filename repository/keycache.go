package repository

import (
	"context"

	"github.com/maypok86/otter/v2"

	"example.com/petstore/domain"
)

// maxCachedKeys is the number of API keys that are cached at most.
const maxCachedKeys = 10_000

// A keyCache is a domain.KeyReader that caches the keys it finds, by hash. An entry is
// valid until any key changes, in this process or in another. A key that is not found is
// not cached, so that a new key works at once. LastUsedAt may be older than the store's.
type keyCache struct {
	domain.KeyReader
	versions *versions
	entries  *otter.Cache[domain.KeyHash, cachedKey]
}

// A cachedKey is a key with the number of key changes before it was read.
type cachedKey struct {
	key     domain.APIKey
	version uint64
}

func newKeyCache(keys domain.KeyReader, v *versions) (*keyCache, error) {
	entries, err := otter.New(&otter.Options[domain.KeyHash, cachedKey]{
		MaximumSize: maxCachedKeys,
		Executor:    func(task func()) { task() }, // no goroutine that outlives its caller
	})
	return &keyCache{KeyReader: keys, versions: v, entries: entries}, err
}

func (c *keyCache) FindByHash(ctx context.Context, hash domain.KeyHash) (domain.APIKey, error) {
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
