package groupcommit

import "example.com/petstore/repository/engine"

// A Tx is the transaction of a batch. The repositories of its functions record what they change,
// so that caches become invalid and functions that fail after a change are rolled back.
type Tx struct {
	engine.Tx
	changes engine.Changes
	dirty   bool // the current function has changed something
}

// MarkAdded records that a number of records of lists are inserted.
func (t *Tx) MarkAdded(rows int64) {
	t.changes.Added = t.changes.Added || rows > 0
	t.MarkDirty(rows)
}

// MarkChanged records that a number of records of lists were updated.
func (t *Tx) MarkChanged(rows int64) {
	t.changes.Changed = t.changes.Changed || rows > 0
	t.MarkDirty(rows)
}

// MarkKeysChanged records that a number of API keys were inserted or updated.
func (t *Tx) MarkKeysChanged(rows int64) {
	t.changes.Keys = t.changes.Keys || rows > 0
	t.MarkDirty(rows)
}

// MarkDirty records that a number of rows were inserted, updated or deleted that no cache has.
func (t *Tx) MarkDirty(rows int64) { t.dirty = t.dirty || rows > 0 }
