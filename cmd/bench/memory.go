package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// hold keeps a file in the memory of the machine until release is called: a disk that
// has to be waited for is not what is compared. To have been read is not enough, since
// a machine may take back within seconds what nobody looks at.
func (l *lab) hold(name string) (release func(), err error) {
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := io.Copy(io.Discard, file)
	if err != nil {
		return nil, err
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	if err := syscall.Mlock(mapped); err != nil {
		l.tell("%s was read, but may not be locked in memory: %v (see ulimit -l)", name, err)
	}
	return func() { _ = syscall.Munmap(mapped) }, nil
}
