package sqlite

import (
	"context"
	"time"
)

// ErrFileReplaced is the error for a replaced or removed file.
var ErrFileReplaced = errFileReplaced

// CheckContent returns a function that checks the content of a file like that of an open store.
func CheckContent(path string) (check func() error, err error) {
	var c contentCheck
	c.fileIdentity, err = newFileIdentity(path)
	return c.check, err
}

// WithRemedy returns an error of Open with its remedy.
var WithRemedy = withRemedy

// Migrate migrates a database with the migrations of a file system.
var Migrate = migrate

// ErrForeignWAL is the error for a file with the WAL of another one.
var ErrForeignWAL = errForeignWAL

// ErrFileEmptied is the error for an emptied file.
var ErrFileEmptied = errFileEmptied

// SyncReplaced does the last step of Replace.
func SyncReplaced(ctx context.Context, path string) error {
	return newReplacement(path, "", time.Time{}).syncFolder(ctx)
}

// ErrLinked is the error for a file with a second name.
var ErrLinked = errLinked

// ErrWALSaved is the error for a WAL that was removed and whose commits are in the file.
var ErrWALSaved = errWALSaved

// ErrWALRemoved is the error for a WAL that was removed.
var ErrWALRemoved = errWALRemoved

// ErrWALTruncated is the error for a WAL that was truncated.
var ErrWALTruncated = errWALTruncated

// ReplaceKilled does what Replace does until it is killed before the step of that number.
// It reports whether there is one.
func ReplaceKilled(ctx context.Context, path, with string, now time.Time, step int) (bool, error) {
	r := newReplacement(path, with, now)
	defer r.unlock()
	steps := r.steps()
	for _, run := range steps[:min(step, len(steps))] {
		if err := run(ctx); err != nil {
			return true, err
		}
	}
	return step < len(steps), nil
}
