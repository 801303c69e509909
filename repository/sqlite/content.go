package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mattn/go-sqlite3"
)

// A contentCheck notices that the content of the file of an open store was replaced, as by
// copying a backup over it. It is safe for concurrent use.
type contentCheck struct {
	path string

	mu       sync.Mutex
	modified time.Time // when the checked content was written
	err      error     // errForeignWAL from then on
}

// check checks a file that was modified at a time, unless it has checked it before. The
// file of an open store is modified only by checkpoints.
func (c *contentCheck) check(modified time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || modified.Equal(c.modified) {
		return c.err
	}
	c.modified = modified
	if err := checkWAL(context.Background(), c.path); errors.Is(err, errForeignWAL) {
		c.err = err
		keepWAL(c.path)
	}
	return c.err
}

// keepWAL opens a connection that is never closed: when the last one is closed, SQLite
// would write the WAL to the wrong file, and remove it.
func keepWAL(path string) {
	conn, err := (&sqlite3.SQLiteDriver{}).Open(dsn(path, readerPragmas))
	if err != nil {
		return
	}
	_, _ = conn.(*sqlite3.SQLiteConn).Exec("SELECT count(*) FROM sqlite_schema", nil) // which opens the WAL
}
