package folder_test

import (
	"testing"

	"example.com/petstore/internal/folder"
)

func TestSyncToleratesFolderThatCannotBeSynced(t *testing.T) {
	t.Parallel()
	if err := folder.Sync("/proc/version"); err != nil { // fsync(2) of /proc returns EINVAL
		t.Error(err)
	}
}
