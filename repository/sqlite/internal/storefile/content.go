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

// A ChangedError is the error of files that others than SQLite have changed.
type ChangedError string

// Error implements error.
func (e ChangedError) Error() string { return string(e) }

// IsChanged reports whether err is that of a file that others than SQLite have changed.
func IsChanged(err error) bool {
	_, changed := errors.AsType[ChangedError](err)
	return changed
}

// ErrReplaced is the error of a file that was changed while it was open.
var ErrReplaced error = ChangedError("the file of the store was replaced, removed, truncated or overwritten while it was open: " +
	"stop the service, then run petstore restore with a backup")

// A File is the file of an open store. It is safe for concurrent use.
type File struct {
	identity
	Reader *sql.DB // of one connection, which writes only checkpoints; nil if another could not read the file

	mu       sync.Mutex
	modified time.Time // when the checked content was written
	size     int64     // of the checked content
	wal, shm identity  // the zero values until WatchWAL
	walSize  int64     // at the last check, or after a commit since
	err      error     // of all later checks
}

// New returns the File at path. It must be called before SQLite opens the file, or a file that
// replaces that one meanwhile could be taken for it.
func New(path string) (*File, error) {
	identity, err := newIdentity(path)
	return &File{identity: identity}, err
}

// Check checks the file and its WAL, without a Reader only that the file is there and has content. It reads the
// content only if the file was modified since it was last found right, as by a checkpoint. It opens no descriptor.
// Reading without the WAL reuses one: SQLite does not close a descriptor of the file while this process has a lock on it
// (findReusableFd in os_unix.c, TestWritesAreCommittedWithoutFreeDescriptor).
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

// checkContent reads the file. An error that says nothing about it, such as one of the disk, is not
// kept.
func (f *File) checkContent(truncated bool) error {
	err := checkGeneration(context.Background(), f.path, f.Reader)
	if err == nil && truncated { // without its WAL it can still be read if VACUUM has truncated it
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

// Fail makes err the error of all later checks.
func (f *File) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// An identity is the file that was found at a path. SQLite continues to use a file that was moved
// away, but opens its WAL and new connections by the path: commits are then lost, or damage the
// file that is now at the path (sqlite.org/howtocorrupt.html, section 4.1).
type identity struct {
	path string
	info os.FileInfo
}

func newIdentity(path string) (identity, error) {
	info, err := os.Stat(path)
	return identity{path, info}, err
}

// stat returns the FileInfo of the file, or ErrReplaced when another file, or none, is at the path.
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
