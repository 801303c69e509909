package engine

import (
	"maps"
	"slices"
)

// A Failure is what failed when a database caused an error.
type Failure string

// The failures.
const (
	FailureFull       Failure = "full"        // the disk or the quota is full
	FailureBusy       Failure = "busy"        // another process held the lock for too long
	FailureConflict   Failure = "conflict"    // a deadlock with another transaction, even after retries
	FailureConnection Failure = "connection"  // the database server could not be reached
	FailureReadOnly   Failure = "read_only"   // the file, its file system or the server is read-only, or the user may not write
	FailureIO         Failure = "io"          // the disk failed to read or write
	FailureCorrupt    Failure = "corrupt"     // the file is damaged
	FailureCannotOpen Failure = "cannot_open" // a file could not be opened, as with too many open files
	FailureReplaced   Failure = "replaced"    // the file or its WAL was moved, removed or replaced while it was open
	FailureTimeout    Failure = "timeout"     // the deadline of the caller has passed
	FailureQueueFull  Failure = "queue_full"  // too many transactions were queued
	FailureClosed     Failure = "closed"      // the store was closed
	FailureOther      Failure = "other"       // none of these
	FailureSchema     Failure = "schema"      // a newer program has migrated the store

	FailureNotSynchronous Failure = "not_synchronous" // a commit would not wait for a standby, see Options.RequireSynchronous
)

// reasons are the texts of Failure.Reason.
var reasons = map[Failure]string{
	FailureFull:           "its disk is full",
	FailureBusy:           "another process holds its lock",
	FailureConflict:       "it is locked",
	FailureConnection:     "its server cannot be reached",
	FailureReadOnly:       "it is read-only, or has no primary server",
	FailureIO:             "its disk failed",
	FailureCorrupt:        "it is damaged",
	FailureCannotOpen:     "its file cannot be opened",
	FailureReplaced:       "its file or its WAL was moved, removed or replaced",
	FailureTimeout:        "it did not respond in time",
	FailureQueueFull:      "it has too many requests",
	FailureClosed:         "it is closed",
	FailureNotSynchronous: "its server has no synchronous standby, which database.require_synchronous demands",
	FailureSchema:         "a newer petstore has migrated it",
	FailureOther:          "see the log",
}

// Failures returns all failures, sorted by name.
func Failures() []Failure { return slices.Sorted(maps.Keys(reasons)) }

// Reason returns the failure in words, as the end of a sentence about the store. It contains no name and no
// secret.
func (f Failure) Reason() string { return reasons[f] }
