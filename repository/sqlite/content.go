package sqlite

import (
	"context"
	"os"
	"sync"
	"time"
)

// A contentCheck notices that the content of the file of an open store was replaced, as by
// copying a backup over it, or truncated. It is safe for concurrent use.
type contentCheck struct {
	path string

	mu       sync.Mutex
	modified time.Time // when the checked content was written
	size     int64     // of the checked content
	err      error     // errForeignWAL, errFileEmptied or errFileReplaced from then on
}

// check checks a file, unless it was not modified since the last check. The file of an open
// store is modified only by checkpoints.
func (c *contentCheck) check(file os.FileInfo) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || file.ModTime().Equal(c.modified) {
		return c.err
	}
	truncated := file.Size() < c.size
	c.modified, c.size = file.ModTime(), file.Size()
	switch err := checkWAL(context.Background(), c.path); {
	case isForeign(err):
		c.err = err
	case isNotADatabase(err), err == nil && truncated && c.isCorrupt():
		c.err = errFileReplaced
	}
	return c.err
}

// isCorrupt reports whether the file cannot be read without its WAL. A file that was truncated
// by VACUUM can.
func (c *contentCheck) isCorrupt() bool {
	_, err := readFileGeneration(context.Background(), c.path)
	return isCorrupt(err)
}

// failed reports whether the content was replaced or truncated. It notices a file that was
// emptied since the last check.
func (c *contentCheck) failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil || wasEmptied(c.path)
}
