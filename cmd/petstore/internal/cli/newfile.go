package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"example.com/petstore/repository/folder"
)

// A newFile is a file that gets its name only when it is complete: until publish it is the
// file path.partial, which is locked. It is readable and writable by its owner only.
type newFile struct {
	*os.File // path.partial
	path     string
}

// createFile creates a newFile. It returns an error if a file has the name already, or if
// another process is writing it. It first removes any other file path.partial, whoever
// created it: the file of a process that was killed cannot be distinguished from another.
func createFile(path string) (*newFile, error) {
	if path == "" {
		return nil, errors.New("the name of the file is empty")
	}
	partial := path + ".partial"
	if err := checkUnused(path); err != nil {
		if isSameFile(path, partial) { // left by a process that was killed within publish
			_ = removeLeftover(partial) // returns an error if the process is still within publish
		}
		return nil, err
	}
	if err := removeLeftover(partial); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names the file
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, errBeingWritten(partial)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s: create it", folder.Of(path))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("permission denied: let this user write to the folder %s, or name a file in another folder", folder.Of(path))
	case err != nil:
		return nil, err
	}
	if err := lock(file); err != nil {
		_ = file.Close() // the name is for the process that has the lock
		return nil, err
	}
	f := &newFile{File: file, path: path}
	if err := f.Chmod(0o600); err != nil { // whatever the umask
		f.discard()
		return nil, err
	}
	return f, nil
}

// removeLeftover removes the partial file at path, if any, or returns an error if a process is
// writing it. The file is not reused: it may be another name of a file that was published.
func removeLeftover(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("permission denied: let this user remove %s, or name another file", path)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if err := lock(file); err != nil {
		return err
	}
	return os.Remove(path)
}

// lock locks a file without waiting. It returns an error if another process has the lock, or has
// removed the file before.
func lock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || err == nil && !hasName(file) {
		return errBeingWritten(file.Name())
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return nil
}

func errBeingWritten(path string) error {
	return fmt.Errorf("another process is writing %s: wait for it, or name another file", path)
}

// hasName reports whether an open file still has the name that it was opened with.
func hasName(file *os.File) bool {
	opened, openedErr := file.Stat()
	named, namedErr := os.Lstat(file.Name())
	return openedErr == nil && namedErr == nil && os.SameFile(opened, named)
}

// publish gives the file its name once its content is durable. It never overwrites a file.
// The caller must call discard afterwards, also after an error.
func (f *newFile) publish() error {
	if err := f.Sync(); err != nil {
		return err
	}
	err := os.Link(f.Name(), f.path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return checkUnused(f.path)
	case errors.Is(err, unix.EPERM), errors.Is(err, errors.ErrUnsupported): // a file system without links
		if err := checkUnused(f.path); err != nil {
			return err
		}
		err = os.Rename(f.Name(), f.path)
	case err == nil:
		err = os.Remove(f.Name())
	}
	if err != nil {
		return err
	}
	return folder.Sync(f.path)
}

// discard closes the file, and removes path.partial if that is still its name: it is not once
// the file was published or renamed, and then another process may use the name.
func (f *newFile) discard() {
	if hasName(f.File) {
		_ = os.Remove(f.Name()) // before Close, which unlocks it
	}
	_ = f.Close()
}

// checkUnused returns an error if there is a file at path.
func checkUnused(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%s exists already: name another file, or move it away", path)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// isSameFile reports whether two paths lead to one file, such as by a link.
func isSameFile(a, b string) bool {
	fileA, errA := os.Stat(a)
	fileB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fileA, fileB)
}
