package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"example.com/petstore/internal/folder"
)

// A newFile is a file that gets its name when it is complete. Until publish, its name is path.NUMBER.partial. Only its
// owner can read and write it.
type newFile struct {
	*os.File
	path string
}

// createFile creates a newFile. It returns an error if path exists already.
func createFile(path string) (*newFile, error) {
	if path == "" {
		return nil, errors.New("the name of the file is empty")
	}
	if err := checkUnused(path); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(folder.Of(path), filepath.Base(path)+".*.partial")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s: create it", folder.Of(path))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("permission denied: let this user write to the folder %s, or name a file in another folder", folder.Of(path))
	}
	return &newFile{file, path}, err
}

// publish makes the content durable, and then gives the file its name. It returns an error if path exists. If the file
// system has no hard links, it overwrites a file that another process creates after the check. The caller must call
// discard afterwards, even if publish returned an error.
func (f *newFile) publish() error {
	if err := f.Sync(); err != nil {
		return err
	}
	err := os.Link(f.Name(), f.path)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) { // the file system has no hard links
		if err = checkUnused(f.path); err == nil {
			err = os.Rename(f.Name(), f.path)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return existsError(f.path)
	}
	if err != nil {
		return err
	}
	return folder.Sync(f.path)
}

// discard closes the file, and removes the name path.NUMBER.partial. A published file keeps its name.
func (f *newFile) discard() {
	_ = os.Remove(f.Name())
	_ = f.Close()
}

// checkUnused returns an error if there is a file at path.
func checkUnused(path string) error {
	if info, err := os.Lstat(path); err == nil {
		if info.IsDir() {
			return fmt.Errorf("%s is a folder: name a new file in it", path)
		}
		return existsError(path)
	}
	return nil // any other error is returned when the file is created
}

func existsError(path string) error {
	return fmt.Errorf("%s exists already: name another file, or move it away", path)
}

// isSameFile reports whether two paths name the same file, such as by a link.
func isSameFile(a, b string) bool {
	fileA, errA := os.Stat(a)
	fileB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fileA, fileB)
}
