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
}

// effects are what a transaction does to the store.
type effects struct{ added, changed, keys bool }

var everything = effects{added: true, changed: true, keys: true}

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
}
