//go:build cgo

package sqlite

import (
	"time"

	"example.com/petstore/repository/engine"
)

// FailCommit makes a database behave as after a commit that failed and was not overwritten.
func FailCommit(d engine.Database) {
	database := d.(*database)
	database.mu.Lock()
	defer database.mu.Unlock()
	database.commitFailed = true
}

// AgeLook makes the last look of a database as old as its PollInterval.
func AgeLook(d engine.Database) {
	seen := d.(*database).seen.Load()
	d.(*database).seen.Store(&seenVersion{seen.version, time.Now().Add(-pollInterval)})
}

// Watch does what a timer does between transactions.
func Watch(d engine.Database) { d.(*database).watch() }
