//go:build cgo

package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestCloseReleasesDescriptorsOfReplacedFile(t *testing.T) {
	t.Parallel()
	s, path := sqlitetest.OpenWithPet(t)
	sqlitetest.CopyFile(t, path, path+".new")
	check(t, os.Rename(path+".new", path))
	if descriptors(t, filepath.Dir(path)) == 0 {
		t.Error("got no descriptor of the open store")
	}
	check(t, s.Close())
	testkit.Equal(t, "the descriptors after Close", 0, descriptors(t, filepath.Dir(path)))
}

func TestOpenReleasesDescriptorsOfDamagedFileAndLeavesItsWAL(t *testing.T) {
	t.Parallel()
	path := sqlitetest.Crash(t, sqlitetest.NewStoreWithPet(t), "Tom")
	sqlitetest.OverwritePage(t, path, "unfinished_copy") // this page is not in the WAL
	wantUnchanged := sqlitetest.Unchanged(t, path, path+"-wal")
	if _, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{}); err == nil {
		t.Fatal("the damaged file was opened")
	}
	testkit.Equal(t, "the descriptors after Open", 0, descriptors(t, filepath.Dir(path)))
	wantUnchanged()
}

// descriptors returns the number of descriptors of this process for files in a folder.
func descriptors(t *testing.T, folder string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, folder+"/") {
			n++
		}
	}
	return n
}
