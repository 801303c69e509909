//go:build cgo

package sqlite

import (
	"time"

	"example.com/petstore/repository/engine"
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

// AgeLook sets the time of the last read of data_version to one PollInterval ago.
func AgeLook(d engine.Database) {
	seen := d.(*database).seen.Load()
	d.(*database).seen.Store(&seenVersion{seen.version, time.Now().Add(-pollInterval)})
}
