//go:build cgo

package storefile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/sqlite/internal/storefile"
	"example.com/petstore/repository/storetest"
)

var check = storetest.Check

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpenRejectsInvalidPaths(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	sqlitetest.WriteFile("")(t, filepath.Join(folder, "file"))
	check(t, os.Symlink("missing.db", filepath.Join(folder, "link")))
	for _, test := range []struct{ path, want string }{
		{"", "the path of a file"},
		{":memory:", "the path of a file"},
		{"file:pets.db", "the path of a file"},
		{filepath.Join(folder, "none", "pets.db"), "there is no folder " + filepath.Join(folder, "none")},
		{folder + "/none/../pets.db", "there is no folder " + folder + "/none/.."},
		{filepath.Join(folder, "file", "pets.db"), "not a directory"},
		{filepath.Join(folder, "link"), "a symbolic link to a file that does not exist"},
	} {
		_, err := repository.Open(t.Context(), sqlite.New(test.path), repository.Options{Migrate: true})
		storetest.WantMessage(t, test.path, err, test.want)
	}
}

func TestOpenRejectsWALOrSharedMemoryWithoutItsFile(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"-wal", "-shm"} {
		path := sqlitetest.NewPath(t)
		sqlitetest.WriteFile("commits")(t, path+suffix)
		wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
		_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
		want := "put the file back, run petstore restore with a backup, or move " + path + suffix + " away"
		storetest.WantMessage(t, "the error", err, want)
		wantUnchanged()
	}
}

func TestFileWithSecondNameIsNotUsed(t *testing.T) {
	t.Parallel()
	s, path := sqlitetest.OpenWithPet(t)
	other := path + ".kept"
	check(t, os.Link(path, other))
	sqlitetest.WantUnavailable(t, s, storefile.ErrLinked)
	for _, name := range []string{path, other} {
		_, err := repository.Open(t.Context(), sqlite.New(name), repository.Options{})
		storetest.WantError(t, name, err, storefile.ErrLinked)
		storetest.WantMessage(t, name, err, "a hard link")
	}
	check(t, os.Remove(other))
	check(t, s.InTx(t.Context(), storetest.Adding("Ada")))
	check(t, s.Ping(t.Context()))
	check(t, s.Close())
	sqlitetest.WantPets(t, path, 2)
}

// A killed Replace has left the second name.
func TestOpenRemovesOnlySecondNameOfReplace(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	for _, name := range []string{"2026", "by-hand", "20260102T030405.000Z.kept"} {
		link := path + ".replaced-" + name
		check(t, os.Link(path, link))
		_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
		storetest.WantError(t, name, err, storefile.ErrLinked)
		check(t, os.Remove(link)) // fails if Open has removed it
	}
	link, symbolic := path+".replaced-20260102T030405.000Z", sqlitetest.NewPath(t)
	check(t, errors.Join(os.Link(path, link), os.Symlink(path, symbolic)))
	sqlitetest.WantPets(t, symbolic, 1)
	_, err := os.Lstat(link)
	storetest.WantError(t, "Lstat of the second name", err, os.ErrNotExist)
}

// Another process has a lock on the folder: shared, while it opens the store, or exclusive, while it replaces it.
func TestOpenAndReplaceExcludeEachOther(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call   func(ctx context.Context, path string) error
		shared bool
	}{
		"open": {func(ctx context.Context, path string) error {
			store, err := repository.Open(ctx, sqlite.New(path), repository.Options{})
			if err != nil {
				return err
			}
			return store.Close()
		}, true},
		"copy": {func(ctx context.Context, path string) error {
			_, err := sqlitetest.Copy(ctx, path, filepath.Join(t.TempDir(), "copy.db"))
			return err
		}, true},
		"replace": {func(ctx context.Context, path string) error {
			_, err := backup.Replace(ctx, path, path+".restored", time.Now())
			return err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewStoreWithPet(t)
			sqlitetest.CopyStore(t, path, path+".restored")
			folder, err := os.Open(filepath.Dir(path))
			check(t, err)
			defer folder.Close()
			wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
			wantWaiting := func(what string) {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				storetest.WantError(t, what, test.call(ctx, path), context.DeadlineExceeded)
				wantUnchanged()
			}
			check(t, unix.Flock(int(folder.Fd()), unix.LOCK_EX))
			wantWaiting("while it is replaced")
			check(t, unix.Flock(int(folder.Fd()), unix.LOCK_SH))
			if !test.shared {
				wantWaiting("while it is opened")
				check(t, unix.Flock(int(folder.Fd()), unix.LOCK_UN))
			}
			check(t, test.call(t.Context(), path))
		})
	}
}

func TestOpenRejectsFileReplacedBesideItsWAL(t *testing.T) {
	t.Parallel()
	for name, backup := range map[string]func(t *testing.T, path, to string){
		"by a copy":         func(t *testing.T, path, to string) { sqlitetest.CopyStore(t, path, to) },
		"by a file copy":    sqlitetest.CopyFile, // of a store that no process has open
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
			_, err := repository.Open(t.Context(), sqlite.New(crashed), repository.Options{Migrate: true})
			storetest.WantError(t, "Open", err, storefile.ErrForeignWAL)
			storetest.WantMessage(t, "Open", err, crashed+"-wal")
			check(t, os.RemoveAll(crashed+"-shm")) // an index of the WAL, which SQLite makes anew
			wantUnchanged()
		})
	}
}

// A checkpoint writes the pages in the order of their numbers. A crash within one leaves a file
// that is damaged without its WAL.
func TestOpenAcceptsStoreAfterCrashWithinCheckpoint(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewPath(t)
	sqlitetest.NewStore(t, path, "")
	store := sqlitetest.Open(t, path)
	for range 90 { // many pages: names are in the table
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
