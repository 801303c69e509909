//go:build cgo

package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/storetest"
)

// The WAL may have commits that no backup has.
func TestCloseReleasesDescriptorsOfWrongFileAndLeavesItsWAL(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"replaced": func(t *testing.T, path string) {
			sqlitetest.CopyFile(t, path, path+".new")
			check(t, os.Rename(path+".new", path))
		},
		"moved away": func(t *testing.T, path string) { check(t, os.Rename(path, path+".moved")) },
		"emptied":    func(t *testing.T, path string) { check(t, os.Truncate(path, 0)) },
		"truncated": func(t *testing.T, path string) {
			check(t, os.Truncate(path, int64(len(sqlitetest.ReadFile(t, path))/2)))
		},
		"overwritten": func(t *testing.T, path string) { sqlitetest.WriteFile(strings.Repeat("noise ", 10_000))(t, path) },
		"overwritten by its backup": func(t *testing.T, path string) {
			backup := filepath.Join(t.TempDir(), "backup.db")
			sqlitetest.CopyStore(t, path, backup)
			sqlitetest.CopyFile(t, backup, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := sqlitetest.OpenWithPet(t)
			change(t, path)
			wantUnchanged := sqlitetest.Unchanged(t, path, path+"-wal")
			if descriptors(t, filepath.Dir(path)) == 0 {
				t.Error("got no descriptor of the open store")
			}
			check(t, s.Close())
			storetest.Equal(t, "the descriptors after Close", 0, descriptors(t, filepath.Dir(path)))
			wantUnchanged()
		})
	}
}

func TestOpenReleasesDescriptorsOfDamagedFileAndLeavesItsWAL(t *testing.T) {
	t.Parallel()
	path := sqlitetest.Crash(t, sqlitetest.NewStoreWithPet(t), "Tom")
	sqlitetest.OverwritePage(t, path, "unfinished_copy") // which is not in the WAL
	wantUnchanged := sqlitetest.Unchanged(t, path, path+"-wal")
	if _, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{}); err == nil {
		t.Fatal("the damaged file was opened")
	}
	storetest.Equal(t, "the descriptors after Open", 0, descriptors(t, filepath.Dir(path)))
	wantUnchanged()
}

// descriptors returns the number of descriptors that this process has of files in a folder.
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
