//go:build cgo && unix

package storefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-sqlite3"
)

// A ChangedError is the error for a file that something other than SQLite has changed.
type ChangedError string

// Error implements error.
func (e ChangedError) Error() string { return string(e) }

// IsChanged reports whether err wraps a ChangedError.
func IsChanged(err error) bool {
	_, changed := errors.AsType[ChangedError](err)
	return changed
}

// ErrReplaced is the error for a file that was changed while it was open.
var ErrReplaced error = ChangedError("the file of the store was replaced, removed, truncated or overwritten while it was open: " +
	"stop the service, then run petstore restore with a backup")

// A File is the file of an open store. It is safe for concurrent use.
type File struct {
	identity
	Reader *sql.DB // one connection, which writes only in checkpoints; nil if the store is open exclusively

	mu       sync.Mutex
	modified time.Time // when the checked content was modified
	size     int64     // the size of the checked content
	wal, shm identity  // the zero values before WatchWAL
	walSize  int64     // the size of the WAL at the last check, or after a later commit
	err      error     // the error of all later checks
}

// New returns the File at path. It must be called before SQLite opens the file. Otherwise it might return
// another file that has replaced the open one.
func New(path string) (*File, error) {
	identity, err := newIdentity(path)
	return &File{identity: identity}, err
}

// Check checks the file and its WAL. It reads the content only if the file was modified, for example by a
// checkpoint, after the last Check that read it and found no error. Without a Reader, Check only checks that
// the same file is there and has content.
//
// Check opens no descriptor. For a read without the WAL it opens a connection, which reuses the descriptor of
// an earlier connection: while this process has a lock on the file, SQLite keeps the descriptors of connections
// that were closed (findReusableFd in os_unix.c, TestWritesAreCommittedWithoutFreeDescriptor).
func (f *File) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	info, err := f.stat()
	if err != nil {
		return err
	}
	if f.Reader == nil {
		return checkNotEmptied(f.path)
	}
	if isLinked(info) {
		return ErrLinked
	}
	if !info.ModTime().Equal(f.modified) || info.Size() != f.size {
		if err := f.checkContent(info.Size() < f.size); err != nil {
			return err
		}
		f.modified, f.size = info.ModTime(), info.Size()
	}
	return f.checkWAL()
}

// checkContent reads the file. Later checks return its error, too, unless the error says nothing about the
// file, such as an error of the disk.
func (f *File) checkContent(truncated bool) error {
	err := checkGeneration(context.Background(), f.path, f.Reader)
	// checkGeneration accepts a file that can be read only with its WAL. A file that VACUUM has truncated can be
	// read without its WAL. If this one cannot, something else has truncated it.
	if err == nil && truncated {
		_, err = readGenerationWithoutWAL(context.Background(), f.path)
	}
	if code := Code(err); code == sqlite3.ErrNotADB || code == sqlite3.ErrCorrupt {
		err = ErrReplaced
	}
	if IsChanged(err) {
		f.err = err
	}
	return err
}

// Fail makes all later checks return err.
func (f *File) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// An identity is the file that was found at a path. When a file is moved away, SQLite continues to use it,
// but opens the WAL and new connections by the path. Commits are then lost, or damage the file that is now
// at the path (sqlite.org/howtocorrupt.html, section 4.1).
type identity struct {
	path string
	info os.FileInfo
}

func newIdentity(path string) (identity, error) {
	info, err := os.Stat(path)
	return identity{path, info}, err
}

// stat returns the FileInfo of the file. If another file or no file is at the path, it returns ErrReplaced.
func (i identity) stat() (os.FileInfo, error) {
	info, err := os.Stat(i.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplaced, err)
	}
	if !os.SameFile(info, i.info) {
		return nil, ErrReplaced
	}
	return info, nil
}
