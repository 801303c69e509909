// Package freshness tells a cache whether its entries are fresh. Versions are numbers that increase when records change. A
// cache calls Refresh, reads a number, and then reads the store. Before it uses the entry, it calls Refresh again: the entry
// is fresh if the number is the same. The package is not for embedders.
package freshness

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sharedquery"
)

// Versions are numbers that increase with each commit of this process, and with the commits of other processes that a check
// has found. They are safe for concurrent use. Close must be called.
type Versions struct {
	database engine.Database
	interval time.Duration // see engine.Database.PollInterval
	timeout  time.Duration // how long Refresh may take, 0 for no limit
	checks   *sharedquery.Query[struct{}, struct{}, struct{}]
	checked  atomic.Pointer[time.Time] // when the last check that succeeded began, nil before the first

	added, changed, keys number // one for each kind of change, see engine.Changes
}

// A number increases with each commit. On an engine with a PollInterval, it is not known while a commit runs whether
// its changes are visible already: each load then increases the number, so that no entry of a cache is used.
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

// New returns the versions of a database. timeout is how long Refresh may take, 0 for no limit.
func New(database engine.Database, timeout time.Duration) *Versions {
	v := &Versions{database: database, interval: database.PollInterval(), timeout: timeout}
	v.checks = sharedquery.New(func(ctx context.Context, _ struct{}, all []struct{}) ([]struct{}, error) {
		return all, v.check(ctx)
	})
	return v
}

// Close ends the use of the database. Later calls of Refresh that need it return an error.
func (v *Versions) Close() { v.checks.Close() }

// Lists returns the numbers for commits with Added and with Changed, see engine.Changes.
func (v *Versions) Lists() (added, changed uint64) { return v.added.load(), v.changed.load() }

// Keys returns the number for commits with Keys, see engine.Changes.
func (v *Versions) Keys() uint64 { return v.keys.load() }

// MaxAge returns how far behind the commits of other processes the numbers may be after Refresh(maxAge):
// maxAge, or twice the engine's PollInterval if that is not zero.
func (v *Versions) MaxAge(maxAge time.Duration) time.Duration {
	if v.interval > 0 {
		return 2 * v.interval
	}
	return maxAge
}

// Age returns how long ago the last check that succeeded began. The numbers include all commits before it, except those
// that PollChanges may miss (see engine.Database.PollInterval). Before a check has succeeded, Age returns the longest Duration.
func (v *Versions) Age() time.Duration {
	last := v.checked.Load()
	if last == nil {
		return math.MaxInt64
	}
	return time.Since(*last)
}

// Refresh increases the numbers for the commits of other processes. Afterwards the numbers are at most MaxAge(maxAge) behind.
// After an error, such as the end of ctx, they may be further behind.
func (v *Versions) Refresh(ctx context.Context, maxAge time.Duration) error {
	if v.interval > 0 {
		maxAge = v.interval
	}
	if v.Age() < maxAge {
		return nil
	}
	if v.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, v.timeout)
		defer cancel()
		ctx = limited
	}
	_, err := v.checks.Do(ctx, struct{}{}, struct{}{})
	return err
}

// Commit calls commit, which commits changes of this process, and increases the numbers before it returns. It increases them
// even if commit fails, because the changes may be durable. Calls must not overlap.
func (v *Versions) Commit(c engine.Changes, commit func() error) error {
	numbers := v.numbers(c)
	for _, n := range numbers {
		n.committing.Store(v.interval > 0) // without an interval, Refresh finds all visible changes
	}
	defer func() {
		for _, n := range numbers {
			n.value.Add(1) // before an entry of a cache can be used again
			n.committing.Store(false)
		}
	}()
	return commit()
}

// increase increases the numbers for changes.
func (v *Versions) increase(c engine.Changes) {
	for _, n := range v.numbers(c) {
		n.value.Add(1)
	}
}

// numbers returns the number of each kind of change in c.
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
