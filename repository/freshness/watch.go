package freshness

import (
	"context"
	"time"

	"example.com/petstore/repository/engine"
)

// watchPolls increases all numbers while Poll is not called, such as when the disk is slow or
// another process holds the lock: other processes may commit meanwhile.
func (v *Versions) watchPolls(ctx context.Context) {
	defer close(v.stopped)
	ticker := time.NewTicker(PollInterval)
	defer ticker.Stop()
	var check pollCheck
	for {
		select {
		case <-ticker.C:
			if check.overdue(v.polls.Load()) {
				v.Committed(engine.AllChanges)
			}
		case <-ctx.Done():
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
