package repository

import "sync/atomic"

// versions count what happened to the store, for those who keep what they read.
// Each rises after a commit and before anybody is told of it, so whoever reads a
// number, then the store, may keep what was read for as long as the number stands.
type versions struct {
	added   atomic.Uint64
	changed atomic.Uint64
	keys    atomic.Uint64
	data    atomic.Int64
	looks   atomic.Uint64 // for the commits of others
}

// effects are what a transaction does to the store.
type effects struct {
	added, changed, keys bool
	touched              bool // by the act that runs
}

var everything = effects{added: true, changed: true, keys: true}

// insert notes that records may be inserted.
func (e *effects) insert() { e.added, e.touched = true, true }

// change notes that so many records were altered.
func (e *effects) change(rows int64) { note(rows, &e.changed, &e.touched) }

// changeKeys notes that so many API keys were inserted or altered.
func (e *effects) changeKeys(rows int64) { note(rows, &e.keys, &e.touched) }

// claim notes that so many idempotency keys were claimed, which nobody keeps.
func (e *effects) claim(rows int64) { note(rows, &e.touched) }

func note(rows int64, effects ...*bool) {
	for _, effect := range effects {
		*effect = *effect || rows > 0
	}
}

func (v *versions) raise(e effects) {
	for _, counter := range []struct {
		number *atomic.Uint64
		rises  bool
	}{{&v.added, e.added}, {&v.changed, e.changed}, {&v.keys, e.keys}} {
		if counter.rises {
			counter.number.Add(1)
		}
	}
}

// noticed compares the data_version of a connection with the last one and raises
// all numbers when another process has committed in between.
func (v *versions) noticed(data int64) {
	if v.data.Swap(data) != data {
		v.raise(everything)
	}
	v.looks.Add(1)
}
