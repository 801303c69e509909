//go:build cgo

package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
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
			content, _ := os.ReadFile(path)
			wal := sqlitetest.ReadFile(t, path+"-wal")
			if descriptors(t, filepath.Dir(path)) == 0 {
				t.Error("got no descriptor of the open store")
			}
			check(t, s.Close())
			if got := descriptors(t, filepath.Dir(path)); got != 0 {
				t.Errorf("got %d descriptors after Close, want none", got)
			}
			after, _ := os.ReadFile(path)
			if !bytes.Equal(content, after) || !bytes.Equal(wal, sqlitetest.ReadFile(t, path+"-wal")) {
				t.Error("the file or its WAL was changed")
			}
		})
	}
}

func TestOpenReleasesDescriptorsOfDamagedFileAndLeavesItsWAL(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	path = sqlitetest.Crash(t, path, "Tom")
	sqlitetest.OverwritePage(t, path, "unfinished_copy") // which is not in the WAL
	content, wal := sqlitetest.ReadFile(t, path), sqlitetest.ReadFile(t, path+"-wal")
	if _, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{}); err == nil {
		t.Fatal("the damaged file was opened")
	}
	if got := descriptors(t, filepath.Dir(path)); got != 0 {
		t.Errorf("got %d descriptors after Open, want none", got)
	}
	if !bytes.Equal(content, sqlitetest.ReadFile(t, path)) || !bytes.Equal(wal, sqlitetest.ReadFile(t, path+"-wal")) {
		t.Error("the file or its WAL was changed")
	}
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
