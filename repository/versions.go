package repository

import "sync/atomic"

// versions count what was committed, for caches. Each number rises after a commit and
// before any caller gets its result, so a cache that reads a number, then the store,
// may use what it read for as long as the number is the same.
type versions struct {
	added   atomic.Uint64 // inserts of pets and orders
	changed atomic.Uint64 // updates of pets and orders
	keys    atomic.Uint64 // inserts and updates of API keys
	polls   atomic.Uint64 // of ChangedByOthers
}

// changes are what a transaction did to the store.
type changes struct {
	added, changed, keys bool
	dirty                bool // the transaction function that runs has changed something
}

// insert notes that records may be inserted.
func (c *changes) insert() { c.added, c.dirty = true, true }

// update notes that so many records were updated.
func (c *changes) update(rows int64) {
	c.changed = c.changed || rows > 0
	c.updateUncached(rows)
}

// updateKeys notes that so many API keys were inserted or updated.
func (c *changes) updateKeys(rows int64) {
	c.keys = c.keys || rows > 0
	c.updateUncached(rows)
}

// updateUncached notes that so many rows were inserted or updated that no cache holds.
func (c *changes) updateUncached(rows int64) { c.dirty = c.dirty || rows > 0 }

// raise raises the numbers for the changes of a transaction.
func (v *versions) raise(c changes) {
	if c.added {
		v.added.Add(1)
	}
	if c.changed {
		v.changed.Add(1)
	}
	if c.keys {
		v.keys.Add(1)
	}
}

// raiseAll invalidates everything that is cached.
func (v *versions) raiseAll() { v.raise(changes{added: true, changed: true, keys: true}) }
