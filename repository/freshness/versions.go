// Package freshness knows whether the entries of a cache are fresh. Versions are numbers that
// increase when records change: a cache calls Refresh, reads a number and then the store, and may
// use what it read while the number, after another Refresh, is the same.
// It is not for embedders.
package freshness

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sharedquery"
)

const (
	// PollInterval is how often Poll is to be called.
	PollInterval = 30 * time.Millisecond
	// maxPollAge is how long the numbers may miss the commits of other processes: the API promises
	// that a list is at most 100 ms old.
	maxPollAge = 3 * PollInterval
)

// Versions are numbers that increase with the commits of this process and, as far as they are known,
// of others. They are safe for concurrent use, except Poll. Close must be called.
type Versions struct {
	database engine.Database
	checks   *sharedquery.Query[struct{}, struct{}, struct{}] // nil if Poll notices the commits of other processes
	checked  atomic.Pointer[time.Time]                        // the numbers include all commits before, nil for none

	added   number // of the commits that inserted records of lists
	changed number // of the commits that updated records of lists
	keys    number // of the commits that inserted or updated API keys
}

// A number increases with each commit. While one runs, its changes become visible at a moment that
// nobody knows: then the number increases with each load, so that no entry of a cache is used.
type number struct {
	value      atomic.Uint64
	committing atomic.Bool
}

func (n *number) load() uint64 {
	if n.committing.Load() {
		return n.value.Add(1)
	}
	return n.value.Load()
}

// New returns the versions of a database. Poll must be called before they are used.
func New(database engine.Database) *Versions {
	v := &Versions{database: database}
	if database.ChecksBeforeRead() {
		v.checks = sharedquery.New(func(ctx context.Context, _ struct{}, all []struct{}) ([]struct{}, error) {
			return all, v.check(ctx)
		})
	}
	return v
}

// Close ends the use of the database. Later calls of Refresh that need it return an error.
func (v *Versions) Close() {
	if v.checks != nil {
		v.checks.Close()
	}
}

// Lists returns the numbers of the commits that inserted records of lists and that updated them.
func (v *Versions) Lists() (added, changed uint64) { return v.added.load(), v.changed.load() }

// Keys returns the number of the commits that inserted or updated API keys.
func (v *Versions) Keys() uint64 { return v.keys.load() }

// MaxAge returns the age that a commit has at most that the numbers do not include after a call of
// Refresh with maxAge: that, or maxPollAge unless the engine checks before a read.
func (v *Versions) MaxAge(maxAge time.Duration) time.Duration {
	if v.checks == nil {
		return maxPollAge
	}
	return maxAge
}

// Refresh returns nil when the numbers include all commits that are older than maxAge, at least if
// the engine checks before a read (engine.Database.ChecksBeforeRead). Otherwise they include those
// that are older than maxPollAge, and Refresh returns immediately.
func (v *Versions) Refresh(ctx context.Context, maxAge time.Duration) error {
	maxAge = v.MaxAge(maxAge)
	if last := v.checked.Load(); last != nil && time.Since(*last) < maxAge {
		return nil
	}
	if v.checks == nil { // Poll waits for the disk or for a lock, but others may commit
		now := time.Now() //nolint:forbidigo // compared with an age
		v.increase(engine.AllChanges)
		v.checked.Store(&now)
		return nil
	}
	_, err := v.checks.Do(ctx, struct{}{}, struct{}{})
	return err
}

// Commit calls commit, which commits changes of this process, and increases the numbers before any
// caller gets its result, also if it fails: the changes may be durable. Calls must not overlap.
func (v *Versions) Commit(c engine.Changes, commit func() error) error {
	numbers := v.numbers(c)
	for _, n := range numbers {
		n.committing.Store(v.checks == nil) // else Refresh knows the changes that are visible
	}
	defer func() {
		for _, n := range numbers {
			n.value.Add(1) // before an entry of a cache can be used again
			n.committing.Store(false)
		}
	}()
	return commit()
}

// increase increases the numbers.
func (v *Versions) increase(c engine.Changes) {
	for _, n := range v.numbers(c) {
		n.value.Add(1)
	}
}

// numbers returns those that count the changes.
func (v *Versions) numbers(c engine.Changes) (changed []*number) {
	if c.Added {
		changed = append(changed, &v.added)
	}
	if c.Changed {
		changed = append(changed, &v.changed)
	}
	if c.Keys {
		changed = append(changed, &v.keys)
	}
	return changed
}

// Poll increases the numbers for the commits of other processes, unless Refresh does. It must be
// called on the goroutine that runs the transactions, in each transaction and at PollInterval.
func (v *Versions) Poll() error {
	if v.checks != nil {
		return nil
	}
	err := v.check(context.Background())
	if err != nil {
		v.increase(engine.AllChanges)
	}
	return err
}

// check increases the numbers for the commits since the last check.
func (v *Versions) check(ctx context.Context) error {
	start := time.Now() //nolint:forbidigo // compared with an age
	changes, err := v.database.PollChanges(ctx)
	v.increase(changes)
	if err == nil {
		v.checked.Store(&start)
	}
	return err
}
