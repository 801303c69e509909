package repository

import (
	"context"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"

	"example.com/petstore/domain"
)

// A keyCache is the domain.KeyReader of requests: it keeps the API keys that were
// found for as long as no key has changed, in this process or another. They are kept
// by their secrets, which spares a request the hash: half of what its key would cost.
// A key that is not found is not kept, so that a new one works at once.
type keyCache struct {
	domain.KeyReader
	versions *versions
	found    *otter.Cache[string, keptKey]
}

// A keptKey is a key with the number of changes before it was read.
type keptKey struct {
	key     domain.APIKey
	changes uint64
}

// maxKeptKeys is how many keys are kept.
const maxKeptKeys = 10_000

func newKeyCache(keys domain.KeyReader, v *versions) (*keyCache, error) {
	found, err := otter.New(&otter.Options[string, keptKey]{
		MaximumSize: maxKeptKeys,
		Executor:    func(task func()) { task() }, // no goroutine that outlives its caller
		Clock:       stopped{},
	})
	return &keyCache{KeyReader: keys, versions: v, found: found}, err
}

// stopped is the clock of a cache in which nothing expires, which would still ask the
// system's for each read.
type stopped struct{}

// NowNano implements otter.Clock.
func (stopped) NowNano() int64 { return 0 }

// Tick implements otter.Clock.
func (stopped) Tick(time.Duration) <-chan time.Time { return nil }

func (c *keyCache) Find(ctx context.Context, secret string) (domain.APIKey, error) {
	changes := c.versions.keys.Load()
	if kept, ok := c.found.GetIfPresent(secret); ok && kept.changes == changes {
		return kept.key, nil
	}
	key, err := c.KeyReader.Find(ctx, secret)
	if err == nil {
		c.found.Set(strings.Clone(secret), keptKey{key, changes}) // the secret is part of a whole header
	}
	return key, err
}
