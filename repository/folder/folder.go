// Package folder writes the entries of a folder to disk.
// It is not for embedders.
package folder

import (
	"errors"
	"os"
	"syscall"
)

// Sync makes the names of the files in a folder durable. Some file systems cannot do that,
// which is no error.
func Sync(path string) error {
	folder, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
