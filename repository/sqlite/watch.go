//go:build cgo && unix

package sqlite

import (
	"context"
	"time"
)

// How often the file and its WAL are checked between transactions: watchInterval while transactions are
// committed, idleInterval after idleAfter without one.
const (
	watchInterval = 30 * time.Millisecond
	idleInterval  = 10 * watchInterval
	idleAfter     = time.Second
)

// watch checks the file, saves a WAL that was removed, and overwrites a commit that failed. A timer calls it.
func (d *database) watch() {
	if !d.mu.TryLock() { // a transaction checks, too
		d.watcher.Reset(watchInterval)
		return
	}
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	ctx := context.Background()
	if d.checkAndSave(ctx) == nil { // else the next Begin returns the error
		_ = d.overwriteFailedCommit()
	}
	_ = d.look(ctx)
	if time.Since(d.committed) < idleAfter || d.commitFailed {
		d.watcher.Reset(watchInterval)
	} else {
		d.watcher.Reset(idleInterval)
	}
}

// watchCommit makes watch check the WAL soon after a commit.
func (d *database) watchCommit() {
	if d.watcher != nil && time.Since(d.committed) >= idleAfter {
		d.watcher.Reset(watchInterval)
	}
	d.committed = time.Now() //nolint:forbidigo // a duration
}
