// Package folder finds the folder of a file, and writes its entries to disk.
// It is not for embedders.
package folder

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Of returns the folder of the file at path. Unlike filepath.Dir it keeps the elements of path:
// sub/.. is no folder if sub is missing, and another one than . if sub is a symbolic link.
func Of(path string) string {
	dir, _ := filepath.Split(path)
	if dir == "" {
		return "."
	}
	return dir[:max(1, len(dir)-1)]
}

// Sync makes the name of the file at path durable. Some file systems, and Windows, cannot do that, which
// is no error.
func Sync(path string) error {
	folder, err := os.Open(Of(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || runtime.GOOS == "windows" {
		return nil
	}
	return err
}
