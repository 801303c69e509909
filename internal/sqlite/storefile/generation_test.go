//go:build cgo

package storefile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/sqlite/storefile"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestOpenRejectsFileReplacedBesideItsWAL(t *testing.T) {
	t.Parallel()
	for name, backup := range map[string]func(t *testing.T, path, to string){
		"by a copy":         func(t *testing.T, path, to string) { sqlitetest.CopyStore(t, path, to) },
		"by a file copy":    sqlitetest.CopyFile, // no process has the store open
		"by an empty store": func(t *testing.T, _, to string) { sqlitetest.NewStore(t, to, "") },
		"by another store":  func(t *testing.T, _, to string) { sqlitetest.NewStore(t, to, "Tom") },
		"by an older backup": func(t *testing.T, path, to string) {
			sqlitetest.CopyStore(t, path, to)
			sqlitetest.NewStore(t, path, "")
			sqlitetest.NewStore(t, path, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, saved := sqlitetest.NewStoreWithPet(t), sqlitetest.NewPath(t)
			backup(t, path, saved)
			crashed := sqlitetest.Crash(t, path, "Tom")
			sqlitetest.CopyFile(t, saved, crashed)

			wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(crashed))
			_, err := repository.Open(t.Context(), sqlite.New(crashed), repository.Options{})
			testkit.WantError(t, "Open", err, storefile.ErrForeignWAL)
			testkit.WantMessage(t, "Open", err, crashed+"-wal")
			check(t, os.RemoveAll(crashed+"-shm")) // the index of the WAL; SQLite makes it anew
			wantUnchanged()
		})
	}
}

// A checkpoint writes pages in the order of their numbers. A crash during a checkpoint leaves a file that
// is damaged without its WAL.
func TestOpenAcceptsStoreAfterCrashWithinCheckpoint(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewPath(t)
	sqlitetest.NewStore(t, path, "")
	store := sqlitetest.Open(t, path)
	for range 90 { // the names fill many pages of the table
		check(t, store.InTx(t.Context(), storetest.Adding(strings.Repeat("x", 200))))
	}
	before := sqlitetest.CopyOf(t, path)
	check(t, store.Close())
	after := sqlitetest.ReadFile(t, path)
	const pageSize = 4096
	for pages := 1; pages < len(after)/pageSize; pages++ {
		crashed := sqlitetest.CopyOf(t, before)
		content := sqlitetest.ReadFile(t, crashed)
		content = append(after[:pages*pageSize:pages*pageSize], content[min(pages*pageSize, len(content)):]...)
		check(t, os.WriteFile(crashed, content, 0))
		sqlitetest.WantPets(t, crashed, 90)
	}
}

// After a crash, the shared memory is left. When SQLite opens a connection to an emptied file, it removes the
// WAL.
func TestOpenRejectsStoreWhoseFileWasEmptiedOrWhoseWALWasRemoved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		emptied, walRemoved bool
		want                error
	}{
		"file emptied":              {true, false, storefile.ErrEmptied},
		"file emptied, WAL removed": {true, true, storefile.ErrEmptied},
		"WAL removed":               {false, true, storefile.ErrWALRemoved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, open := sqlitetest.OpenWithPet(t)
			path := sqlitetest.CopyOf(t, open)
			sqlitetest.CopyFile(t, open+"-shm", path+"-shm")
			if test.emptied {
				check(t, os.Truncate(path, 0))
			}
			if test.walRemoved {
				check(t, os.Remove(path+"-wal"))
			}
			wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
			_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
			testkit.WantError(t, "Open", err, test.want)
			testkit.WantMessage(t, "Open", err, "petstore restore", "move "+path, path+"-shm away")
			wantUnchanged()
		})
	}
}
