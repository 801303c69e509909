package repository

import "sync/atomic"

// versions count commits, for caches. Each number increases after a commit and before its
// callers get their results, so a cache that reads a number and then the store may use
// what it read while the number is unchanged. A cache calls refresh before it reads a
// number.
type versions struct {
	added   atomic.Uint64 // inserts of pets and orders
	changed atomic.Uint64 // updates of pets and orders
	keys    atomic.Uint64 // inserts and updates of API keys
	polls   atomic.Uint64 // calls of ChangedByOthers

	*refresher // nil if the writer polls
}

// Changes are kinds of change that transactions have committed, by which caches find out
// what is stale.
type Changes struct {
	Added   bool // pets or orders were inserted
	Changed bool // pets or orders were updated
	Keys    bool // API keys were inserted or updated
}

// changes are the kinds of change that a batch made.
type changes struct {
	Changes
	dirty bool // the current function has changed something
}

// markInserted records that pets or orders are inserted.
func (c *changes) markInserted() { c.Added, c.dirty = true, true }

// markUpdated records that rows pets or orders were updated.
func (c *changes) markUpdated(rows int64) {
	c.Changed = c.Changed || rows > 0
	c.markDirty(rows)
}

// markKeysChanged records that rows API keys were inserted or updated.
func (c *changes) markKeysChanged(rows int64) {
	c.Keys = c.Keys || rows > 0
	c.markDirty(rows)
}

// markDirty records that rows rows were inserted, updated or deleted, none of which is cached.
func (c *changes) markDirty(rows int64) { c.dirty = c.dirty || rows > 0 }

// increment increments the numbers for changes.
func (v *versions) increment(c Changes) {
	if c.Added {
		v.added.Add(1)
	}
	if c.Changed {
		v.changed.Add(1)
	}
	if c.Keys {
		v.keys.Add(1)
	}
}

// committed increments the numbers for the changes of a batch, unless the next refresh will
// notice its commit.
func (v *versions) committed(c Changes) {
	if v.refresher == nil || v.maxStaleness > 0 {
		v.increment(c)
	}
}

// invalidateAll invalidates all cache entries.
func (v *versions) invalidateAll() { v.increment(Changes{Added: true, Changed: true, Keys: true}) }
