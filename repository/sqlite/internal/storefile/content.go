package storefile

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"sync"
	"time"
)

// A File notices that the file of an open store is another one, has a second name, or that
// its content was replaced, as by copying a backup over it, or truncated, and that its WAL was. It
// is safe for concurrent use.
type File struct {
	fileIdentity
	Reader *sql.DB // of one connection; nil until it is open

	mu       sync.Mutex
	wal      walCheck
	modified time.Time // when the checked content was written
	size     int64     // of the checked content
	err      error     // from when the content was found wrong
}

// New returns the File at path. It is called before SQLite opens the file, or one that replaces it
// meanwhile could be taken for it.
func New(path string) (*File, error) {
	identity, err := newFileIdentity(path)
	return &File{fileIdentity: identity}, err
}

// CheckIdentity is Check without the content and the WAL.
func (c *File) CheckIdentity() error {
	_, err := c.fileIdentity.check()
	return err
}

// Check checks the file, and its content unless it was not modified since it was last found
// right. The file of an open store is modified only by checkpoints. It needs no free descriptor,
// or clients could stop all writes: it has a connection of its own, and SQLite keeps the
// descriptor with which the first check has read the file without its WAL.
func (c *File) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	file, err := c.fileIdentity.check()
	if err != nil {
		return err
	}
	if isLinked(file) {
		return ErrLinked
	}
	if err := c.checkContent(file); err != nil {
		return err
	}
	if err = c.wal.check(c.Reader); errors.Is(err, ErrWALTruncated) {
		c.err = err
	}
	return err
}

func (c *File) checkContent(file os.FileInfo) error {
	if file.ModTime().Equal(c.modified) && file.Size() == c.size {
		return nil
	}
	truncated := file.Size() < c.size
	err := CheckWAL(context.Background(), c.path, c.Reader)
	if err == nil && truncated { // without its WAL it can still be read if VACUUM has truncated it
		_, err = readGenerationWithoutWAL(context.Background(), c.path)
	}
	switch {
	case IsForeign(err):
		c.err = err
	case IsNotADatabase(err), IsCorrupt(err):
		c.err = ErrReplaced
	case err != nil:
		return err // such as of the disk: check again next time
	default:
		c.modified, c.size = file.ModTime(), file.Size()
	}
	return c.err
}

// Fail makes err the error of all later checks.
func (c *File) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// Failed reports whether a check has found the content wrong. It notices a file that was
// emptied since the last check.
func (c *File) Failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil || wasEmptied(c.path)
}
