//go:build cgo

package storefile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/sqlite/storefile"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// After each change, a copy of the file and the WAL that were open has all acknowledged writes. Close writes
// them to the file, unless it was replaced.
func TestStoreIsUnavailableWhenItsFileOrItsWALIsChanged(t *testing.T) {
	t.Parallel()
	remove := func(path, _ string) error { return os.Remove(path) }
	move := func(path, _ string) error { return os.Rename(path, path+".moved") }
	replace := func(path, other string) error { return os.Rename(other, path) }
	for name, change := range map[string]func(path, other string) error{"removed": remove, "moved": move, "replaced": replace} {
		for suffix, want := range map[string]error{"": storefile.ErrReplaced, "-wal": storefile.ErrWALReplaced} {
			t.Run(name+" "+suffix, func(t *testing.T) {
				t.Parallel()
				s, path := sqlitetest.OpenWithPet(t)
				other := path + ".other"
				if suffix == "" {
					sqlitetest.CopyStore(t, path, other)
				} else {
					sqlitetest.CopyFile(t, path+suffix, other)
				}
				check(t, s.InTx(t.Context(), storetest.Adding("Tom")))
				opened := sqlitetest.CopyOf(t, path)
				inTransaction(t, s, want, func() { check(t, change(path+suffix, other)) })
				sqlitetest.WantUnavailable(t, s, want)
				storetest.WantNames(t, s, "Rex", "Tom")
				sqlitetest.WantPets(t, opened, 2)
				if suffix != "" {
					check(t, s.Close())
					sqlitetest.WantPets(t, path, 2)
					return
				}
				wantUnchanged := sqlitetest.Unchanged(t, path, path+".moved", path+"-wal")
				check(t, s.Close())
				wantUnchanged()
				_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
				testkit.WantMessage(t, "Open", err, "run petstore restore with")
			})
		}
	}
}

// The files of a store were moved away, and another process has created a store at the path.
func TestCloseLeavesTheOtherStoreAtThePath(t *testing.T) {
	t.Parallel()
	s, path := sqlitetest.OpenWithPet(t)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		check(t, os.Rename(path+suffix, path+".moved"+suffix))
	}
	other := sqlitetest.Open(t, path)
	check(t, other.InTx(t.Context(), storetest.Adding("Ada")))
	wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
	check(t, s.Close())
	wantUnchanged()
	check(t, other.InTx(t.Context(), storetest.Adding("Bob")))
	check(t, other.Close())
	sqlitetest.WantPets(t, path, 2)
	sqlitetest.WantPets(t, path+".moved", 1)
}

// TestFileOverwrittenWhileOpenIsRefusedLater overwrites the file of an open store, which does not notice it.
// The next start does, whether the service was stopped or killed, and whether a checkpoint has written to the
// file since.
func TestFileOverwrittenWhileOpenIsRefusedLater(t *testing.T) {
	t.Parallel()
	for name, overwrite := range map[string]func(t *testing.T, path, backup, older string){
		"by a backup":       func(t *testing.T, path, backup, _ string) { sqlitetest.CopyFile(t, backup, path) },
		"by an older store": func(t *testing.T, path, _, older string) { sqlitetest.CopyFile(t, older, path) },
		"by another store": func(t *testing.T, path, _, _ string) {
			other := sqlitetest.NewStoreWithPet(t)
			sqlitetest.CopyFile(t, other, path)
		},
		"by noise":   func(t *testing.T, path, _, _ string) { sqlitetest.WriteFile(strings.Repeat("noise", 20_000))(t, path) },
		"by nothing": func(t *testing.T, path, _, _ string) { check(t, os.Truncate(path, 0)) },
	} {
		for _, checkpoint := range []bool{true, false} {
			for _, killed := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, checkpoint %t, killed %t", name, checkpoint, killed), func(t *testing.T) {
					t.Parallel()
					path, backup, older := sqlitetest.NewStoreWithPet(t), sqlitetest.NewPath(t), sqlitetest.NewPath(t)
					sqlitetest.CopyFile(t, path, older)
					s := sqlitetest.Open(t, path)
					check(t, s.InTx(t.Context(), storetest.Adding("Tom")))
					sqlitetest.CopyStore(t, path, backup)
					check(t, s.InTx(t.Context(), storetest.Adding("Ada")))
					overwrite(t, path, backup, older)
					if checkpoint { // SQLite begins one after a commit when the WAL has 1000 pages
						for range 300 {
							_ = s.InTx(t.Context(), storetest.Adding("Max"))
						}
					}
					next := path
					if killed {
						next = sqlitetest.CopyOf(t, path)
						sqlitetest.CopyFile(t, path+"-shm", next+"-shm")
					}
					check(t, s.Close())
					wantUnchanged := sqlitetest.Unchanged(t, next, next+"-wal")
					if _, err := repository.Open(t.Context(), sqlite.New(next), repository.Options{}); err == nil {
						t.Error("the overwritten file was opened")
					}
					wantUnchanged()
				})
			}
		}
	}
}

func TestRefusedWriteIsNotInFileThatIsMovedBack(t *testing.T) {
	t.Parallel()
	s, path := sqlitetest.OpenWithPet(t)
	inTransaction(t, s, storefile.ErrReplaced, func() { check(t, os.Rename(path, path+".moved")) })
	check(t, os.Rename(path+".moved", path))
	check(t, s.InTx(t.Context(), storetest.Adding("Tom")))
	storetest.WantNames(t, s, "Rex", "Tom")
	check(t, s.Close())
	sqlitetest.WantPets(t, path, 2)
}

// This test is not parallel, because other tests need descriptors, too.
func TestStoreNeedsNoFurtherDescriptor(t *testing.T) { //nolint:paralleltest // see above
	s, path := sqlitetest.OpenWithPet(t)
	release := useAllDescriptors(t)
	write := s.InTx(t.Context(), storetest.Adding("Tom"))
	read := s.Pets().Each(t.Context(), "", func(domain.Pet) error {
		_, err := s.Pets().Get(t.Context(), 1) // this uses another connection
		return err
	})
	release()
	check(t, errors.Join(write, read))
	sqlitetest.WantPets(t, path, 2)
}

// useAllDescriptors opens files until the process can open no more. release closes them.
func useAllDescriptors(t *testing.T) (release func()) {
	t.Helper()
	var limit unix.Rlimit
	check(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	check(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: limit.Max}))
	var opened []*os.File
	for {
		file, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		opened = append(opened, file)
	}
	return func() {
		check(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
		for _, file := range opened {
			check(t, file.Close())
		}
	}
}

// inTransaction calls change in a transaction that must fail.
func inTransaction(t *testing.T, s *repository.Store, want error, change func()) {
	t.Helper()
	err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		change()
		return storetest.Adding("Max")(ctx, r)
	})
	testkit.WantError(t, "InTx", err, domain.ErrUnavailable, want)
}

// The file of a store is modified by each checkpoint.
func TestStoreIsAvailableAfterCheckpointsAndVacuum(t *testing.T) {
	t.Parallel()
	s, path := sqlitetest.OpenWithPet(t)
	for range 5 {
		for _, statement := range []string{
			"CREATE TABLE large AS SELECT randomblob(1000000)", "PRAGMA wal_checkpoint(TRUNCATE)",
			"DROP TABLE large", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)",
		} {
			sqlitetest.Execute(statement)(t, path)
			check(t, s.InTx(t.Context(), storetest.Adding("Tom")))
			check(t, s.Ping(t.Context()))
		}
		sqlitetest.NewStore(t, path, "")
	}
}
