// Package folder finds the folder of a file and syncs it.
package folder

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Of returns the folder of the file at path. Unlike filepath.Dir, it does not clean path: if sub is
// missing, sub/.. is no folder, and if sub is a symbolic link, sub/.. is another folder than the current
// one.
func Of(path string) string {
	dir, _ := filepath.Split(path)
	if dir == "" {
		return "."
	}
	return dir[:max(1, len(dir)-1)]
}

// Sync makes the name of the file at path durable. Where the operating system or the file system cannot do
// that, it returns nil.
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
