package repository

import (
	"context"
	"errors"
	"time"

	"github.com/maypok86/otter/v2"
	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/batch"
)

const (
	// maxCachedKeys is the maximum number of cached API keys.
	maxCachedKeys = 10_000
	// MaxKeyAge is how long a key is used without a query. So a revoked key stops working within a second, also for a
	// stream, which checks its key twice a second.
	MaxKeyAge = 400 * time.Millisecond
)

// A keyCache is a port.KeyReader that remembers the keys that it finds, by hash. An unknown key is not remembered, so
// that a new key is valid immediately. Look-ups that wait share a query: so clients with unknown keys, however many, use one
// of the connections that read. While the database is unavailable, a key is used for staleIfUnavailable.
type keyCache struct {
	*readers
	staleIfUnavailable time.Duration
	entries            *otter.Cache[apikey.Hash, foundKey]
	lookups            *batch.Group[*keyLookup]
}

// A keyLookup looks for the key with a hash. The key has the ID 0 if there is none.
type keyLookup struct {
	hash apikey.Hash
	key  apikey.Key
}

// maxSharedLookups is the maximum number of look-ups that share a query.
const maxSharedLookups = 64

// A foundKey is a key, and the time before it was read.
type foundKey struct {
	key apikey.Key
	at  time.Time
}

// newKeyCache returns a keyCache of the keys in the store. The caller must close lookups.
func newKeyCache(r *readers, staleIfUnavailable time.Duration) (*keyCache, error) {
	entries, err := otter.New(&otter.Options[apikey.Hash, foundKey]{
		MaximumSize: maxCachedKeys,
		Executor:    func(task func()) { task() }, // without an Executor, otter would start a goroutine
	})
	c := &keyCache{readers: r, staleIfUnavailable: staleIfUnavailable, entries: entries}
	c.lookups = batch.New(batch.Options{Size: maxSharedLookups, Leave: true, Timeout: r.timeout}, c.find)
	return c, err
}

func (c *keyCache) FindByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	now := time.Now() //nolint:forbidigo // compared with an age
	known, ok := c.entries.GetIfPresent(hash)
	if ok && now.Sub(known.at) < MaxKeyAge {
		return known.key, nil
	}
	lookup := &keyLookup{hash: hash}
	err := c.share(func() error { return c.lookups.Do(ctx, lookup) })
	switch {
	case ok && errors.Is(err, domain.ErrUnavailable) && now.Sub(known.at) < c.staleIfUnavailable:
		return known.key, nil
	case err != nil:
		return apikey.Key{}, err
	case lookup.key.ID == 0:
		return apikey.Key{}, apikey.Invalid(nil)
	}
	c.entries.Set(hash, foundKey{lookup.key, now})
	return lookup.key, nil
}

// find runs the look-ups that take returns with one query, once a connection is free.
func (c *keyCache) find(ctx context.Context, deadline time.Time, take func() []*keyLookup) error {
	return c.run(ctx, deadline, func(db *gorm.DB) error {
		lookups := take()
		byHash := make(map[apikey.Hash][]*keyLookup, len(lookups))
		var hashes [][]byte
		for _, lookup := range lookups {
			byHash[lookup.hash] = append(byHash[lookup.hash], lookup)
			hashes = append(hashes, lookup.hash[:])
		}
		var models []keyModel
		if err := db.Where("hash IN ?", padded(hashes)).Find(&models).Error; err != nil {
			return err
		}
		for i := range models {
			key, err := models[i].record()
			if err != nil {
				return err
			}
			for _, lookup := range byHash[key.Hash] {
				lookup.key = key
			}
		}
		return nil
	})
}

func (c *keyCache) List(ctx context.Context) ([]apikey.Key, error) {
	var models []keyModel
	if err := c.read(ctx, func(db *gorm.DB) error { return db.Order("id").Find(&models).Error }); err != nil {
		return nil, err
	}
	all := make([]apikey.Key, len(models))
	for i := range models {
		var err error
		if all[i], err = models[i].record(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
