//go:build cgo && unix

package storefile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A ReplacedError is the error for a file that something other than SQLite has replaced, removed or overwritten.
type ReplacedError string

// Error implements error.
func (e ReplacedError) Error() string { return string(e) }

// IsReplaced reports whether err wraps a ReplacedError.
func IsReplaced(err error) bool {
	_, replaced := errors.AsType[ReplacedError](err)
	return replaced
}

// Errors of File.Check.
var (
	ErrReplaced error = ReplacedError("the file of the store was moved, removed or replaced while it was open: " +
		"put it back, or stop the service and run petstore restore with a backup")
	ErrWALReplaced error = ReplacedError("the WAL of the store was moved, removed or replaced while it was open: " +
		"restart the service, which writes the commits of the WAL to the file when it stops")
)

// A File is the file and the WAL of an open store. When they are moved away, SQLite continues to use them,
// but finds them by their paths in new connections. Commits are then lost, or damage the file that is now at
// the path (sqlite.org/howtocorrupt.html, section 4.1).
type File struct {
	path, walPath string
	file, wal     fs.FileInfo
}

// NewFile returns the File at path. The caller has just opened the store.
func NewFile(path string) (*File, error) {
	f := &File{path: path, walPath: walPath(path)}
	var err, walErr error
	f.file, err = os.Stat(f.path)
	f.wal, walErr = os.Stat(f.walPath)
	return f, cmp.Or(err, walErr)
}

// Check returns a ReplacedError if the file or the WAL at its path is not the one that is open.
func (f *File) Check() error {
	if err := checkSame(f.path, f.file, ErrReplaced); err != nil {
		return err
	}
	return checkSame(f.walPath, f.wal, ErrWALReplaced)
}

// checkSame returns replaced if the file at path is not opened.
func checkSame(path string, opened fs.FileInfo, replaced error) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", replaced, err)
	}
	if !os.SameFile(info, opened) {
		return replaced
	}
	return nil
}
