package groupcommit

import "example.com/petstore/repository/engine"

// A Tx is the transaction of a batch. Its repositories must record with the Mark methods what they change.
// So caches are invalidated, and a function that fails after a change is rolled back.
type Tx struct {
	engine.Tx
	changes engine.Changes
	dirty   bool // the current function has changed something
}

// MarkAdded records that rows were inserted, for engine.Changes.Added. It does nothing if rows is 0.
func (t *Tx) MarkAdded(rows int64) {
	t.changes.Added = t.changes.Added || rows > 0
	t.MarkDirty(rows)
}

// MarkChanged is like MarkAdded, for engine.Changes.Changed.
func (t *Tx) MarkChanged(rows int64) {
	t.changes.Changed = t.changes.Changed || rows > 0
	t.MarkDirty(rows)
}

// MarkKeysChanged is like MarkAdded, for engine.Changes.Keys.
func (t *Tx) MarkKeysChanged(rows int64) {
	t.changes.Keys = t.changes.Keys || rows > 0
	t.MarkDirty(rows)
}

// MarkDirty is like MarkAdded, for changes that make no cache entry stale.
func (t *Tx) MarkDirty(rows int64) { t.dirty = t.dirty || rows > 0 }
