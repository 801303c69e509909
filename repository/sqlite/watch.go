//go:build cgo && unix

package sqlite

import (
	"context"
	"time"
)

// How often the file and its WAL are checked between transactions: every watchInterval, or every
// idleInterval after idleAfter without a commit.
const (
	watchInterval = 30 * time.Millisecond
	idleInterval  = 10 * watchInterval
	idleAfter     = time.Second
)

// watch checks the file, saves the commits of a WAL that was removed, and overwrites a commit that failed.
// A timer calls it.
func (d *database) watch() {
	if !d.mu.TryLock() { // a transaction makes the same checks
		d.watcher.Reset(watchInterval)
		return
	}
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	ctx := context.Background()
	if d.checkAndSave(ctx) == nil { // otherwise the next Begin returns the error
		_ = d.overwriteFailedCommit()
	}
	_ = d.look(ctx)
	if time.Since(d.committed) < idleAfter || d.commitFailed {
		d.watcher.Reset(watchInterval)
	} else {
		d.watcher.Reset(idleInterval)
	}
}

// watchCommit makes watch run soon after a commit.
func (d *database) watchCommit() {
	if d.watcher != nil && time.Since(d.committed) >= idleAfter {
		d.watcher.Reset(watchInterval)
	}
	d.committed = time.Now() //nolint:forbidigo // a duration
}
