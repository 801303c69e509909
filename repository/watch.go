package repository

import (
	"context"
	"time"
)

// pollInterval is how often the writer looks for commits of other processes. Store.Versions
// promises that these raise the versions within 100 ms, which may take three intervals:
// see pollCheck.
const pollInterval = 30 * time.Millisecond

// poll raises the versions when another process has committed.
func (w *writer) poll() error {
	changed, err := w.database.ChangedByOthers(context.Background())
	if err != nil {
		return err
	}
	if changed {
		w.versions.raiseAll()
	}
	w.versions.polls.Add(1)
	return nil
}

// nextTick replaces the channel of the next tick, and returns the previous one.
func (w *writer) nextTick() *chan struct{} {
	next := make(chan struct{})
	return w.tick.Swap(&next)
}

// watch raises the versions while the writer cannot poll, as when the disk is slow or
// another process holds the lock.
func (w *writer) watch() {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var polls pollCheck
	for {
		select {
		case <-ticker.C:
			close(*w.nextTick())
			if polls.overdue(w.versions.polls.Load()) {
				w.versions.raiseAll()
			}
		case <-w.stopped:
			return
		}
	}
}

// A pollCheck compares the number of polls at one tick with those at the ticks before.
type pollCheck struct {
	seen   uint64
	missed int
}

// overdue reports whether no poll has happened for two ticks.
func (c *pollCheck) overdue(polls uint64) bool {
	if polls != c.seen {
		*c = pollCheck{seen: polls}
		return false
	}
	c.missed++
	return c.missed >= 2
}
