package repository

import (
	"errors"
	"os"
	"syscall"
)

// SyncFolder makes the names of the files in a folder durable. Some file systems cannot do that,
// which is no error.
func SyncFolder(path string) error {
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
