package storefile

import (
	"errors"
	"fmt"
	"os"
)

// A fileIdentity is the file that was opened at a path. SQLite continues to use a file
// that was moved away, but opens its WAL and new connections by the path: commits are then
// lost, or damage the file that is now at the path (sqlite.org/howtocorrupt.html, section
// 4.1).
type fileIdentity struct {
	path string
	info os.FileInfo
}

// ErrReplaced is the error for an open file that was changed by others than SQLite.
var ErrReplaced = errors.New("the file of the store was replaced, removed, truncated or overwritten while it was open: stop the service, then run petstore restore with a backup")

func newFileIdentity(path string) (fileIdentity, error) {
	info, err := os.Stat(path)
	return fileIdentity{path, info}, err
}

// check returns the FileInfo of the file, or an error when another file, or none, is at the
// path.
func (f fileIdentity) check() (os.FileInfo, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplaced, err)
	}
	if !os.SameFile(info, f.info) {
		return nil, ErrReplaced
	}
	return info, nil
}

// CheckNoOther returns an error when another file is at the path. If none is there, the file
// may have been moved away, with all that it holds.
func (f fileIdentity) CheckNoOther() error {
	if info, err := os.Stat(f.path); err == nil && !os.SameFile(info, f.info) {
		return ErrReplaced
	}
	return nil
}
