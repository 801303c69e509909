package groupcommit

import "example.com/petstore/repository/engine"

// A Tx is the transaction of a batch. The repositories of its functions record what they change,
// so that caches become invalid and functions that fail after a change are rolled back.
type Tx struct {
	engine.Tx
	changes engine.Changes
	dirty   bool // the current function has changed something
}

// MarkAdded records the change of a number of rows that engine.Changes.Added is for.
func (t *Tx) MarkAdded(rows int64) {
	t.changes.Added = t.changes.Added || rows > 0
	t.MarkDirty(rows)
}

// MarkChanged is MarkAdded for engine.Changes.Changed.
func (t *Tx) MarkChanged(rows int64) {
	t.changes.Changed = t.changes.Changed || rows > 0
	t.MarkDirty(rows)
}

// MarkKeysChanged is MarkAdded for engine.Changes.Keys.
func (t *Tx) MarkKeysChanged(rows int64) {
	t.changes.Keys = t.changes.Keys || rows > 0
	t.MarkDirty(rows)
}

// MarkDirty is MarkAdded for rows that no cache has.
func (t *Tx) MarkDirty(rows int64) { t.dirty = t.dirty || rows > 0 }
