package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lockInMemory reads a file into the page cache and locks it there until unlock is
// called, so that no read waits for the disk. To read it alone is not enough: the
// kernel may evict within seconds what is not used.
func (h *harness) lockInMemory(name string) (unlock func(), err error) {
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
		h.logf("%s is read, but not locked in memory: %v; raise ulimit -l", name, err)
	}
	return func() { _ = syscall.Munmap(mapped) }, nil
}
