package repository

import (
	"context"
	"time"
)

// pollInterval is how often the writer polls for commits of other processes. It may take
// three intervals (see pollCheck) until the versions increase, and Store.Versions promises
// 100 ms.
const pollInterval = 30 * time.Millisecond

// poll invalidates the cache entries that other processes have made stale, unless refresh does.
func (w *writer) poll() error {
	if w.database.Exact() {
		return nil
	}
	changed, err := w.database.ChangedByOthers(context.Background())
	if err != nil {
		return err
	}
	w.versions.increment(changed)
	w.versions.polls.Add(1)
	return nil
}

// replaceTick replaces the channel of the next tick, and returns the previous one.
func (w *writer) replaceTick() *chan struct{} {
	next := make(chan struct{})
	return w.tick.Swap(&next)
}

// watchPolls invalidates all cache entries while the writer cannot poll, such as when the disk
// is slow or another process holds the lock.
func (w *writer) watchPolls() {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var check pollCheck
	for {
		select {
		case <-ticker.C:
			close(*w.replaceTick())
			if !w.database.Exact() && check.overdue(w.versions.polls.Load()) {
				w.versions.invalidateAll()
			}
		case <-w.stopped:
			return
		}
	}
}

// A pollCheck compares the number of polls at a tick with that at the tick before.
type pollCheck struct {
	polls  uint64 // at the last tick with a new one
	missed int    // ticks since then
}

// overdue reports whether no poll has happened for two ticks.
func (c *pollCheck) overdue(polls uint64) bool {
	if polls != c.polls {
		*c = pollCheck{polls: polls}
		return false
	}
	c.missed++
	return c.missed >= 2
}
