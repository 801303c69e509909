//go:build cgo

package sqlite

import (
	"time"

	"example.com/petstore/internal/engine"
)

// NewWithWait is New with the time that Open waits for another service.
func NewWithWait(path string, wait time.Duration) engine.Engine { return fileEngine{path, wait} }

// FailCommit makes a database behave as after a commit that has failed and was not overwritten.
func FailCommit(d engine.Database) {
	database := d.(*database)
	database.mu.Lock()
	defer database.mu.Unlock()
	database.commitFailed = true
}

// AgeLook sets the time of the last look to one engine.PollInterval ago, with or without the lock.
func AgeLook(d engine.Database, locked bool) {
	aged := *d.(*database).seen.Load()
	aged.locked = locked
	aged.at = time.Now().Add(-engine.PollInterval)
	d.(*database).seen.Store(&aged)
}
