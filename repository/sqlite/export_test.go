//go:build cgo

package sqlite

import "example.com/petstore/repository/engine"

// FailCommit makes a database behave as after a commit that failed and was not overwritten.
func FailCommit(d engine.Database) { d.(*database).commitFailed = true }
