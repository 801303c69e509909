//go:build cgo

package sqlite

import "example.com/petstore/repository/engine"

// FailCommit makes a database behave as after a commit that failed and was not overwritten.
func FailCommit(d engine.Database) {
	database := d.(*database)
	database.mu.Lock()
	defer database.mu.Unlock()
	database.commitFailed = true
}

// Watch does what a timer does between transactions.
func Watch(d engine.Database) { d.(*database).watch() }
