//go:build cgo

package storefile_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/sqlite/internal/storefile"
	"example.com/petstore/repository/storetest"
)

// Close leaves the WAL as it is, because it may have commits that no backup has.
func TestStoreIsUnavailableWhenItsFileIsChanged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(path, backup string) error
		want   error
	}{
		"replaced":    {func(path, backup string) error { return os.Rename(backup, path) }, storefile.ErrReplaced},
		"moved away":  {func(path, _ string) error { return os.Rename(path, path+".moved") }, storefile.ErrReplaced},
		"emptied":     {func(path, _ string) error { return os.Truncate(path, 0) }, storefile.ErrEmptied},
		"truncated":   {func(path, _ string) error { return os.Truncate(path, 20_000) }, storefile.ErrReplaced},
		"overwritten": {func(path, _ string) error { return os.WriteFile(path, bytes.Repeat([]byte{0xa5}, 60_000), 0o600) }, storefile.ErrReplaced},
		"overwritten by a backup": {func(path, backup string) error {
			content, err := os.ReadFile(backup)
			return errors.Join(err, os.WriteFile(path, content, 0o600))
		}, storefile.ErrForeignWAL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := sqlitetest.OpenWithPet(t)
			backup := path + ".backup"
			sqlitetest.CopyStore(t, path, backup)
			check(t, s.InTx(t.Context(), storetest.Adding("Tom")))
			inTransaction(t, s, test.want, func() { check(t, test.change(path, backup)) })
			sqlitetest.WantUnavailable(t, s, test.want)
			wantUnchanged := sqlitetest.Unchanged(t, path, path+"-wal")
			check(t, s.Close())
			wantUnchanged()
		})
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

// The content must be checked when the file was modified, for example by a checkpoint. That needs a
// descriptor. This test is not parallel, because other tests need descriptors, too.
func TestWritesAreCommittedWithoutFreeDescriptor(t *testing.T) { //nolint:paralleltest // see above
	s, path := sqlitetest.OpenWithPet(t)
	release := useAllDescriptors(t)
	modify := func() error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) }
	between := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		return errors.Join(storetest.Adding("Tom")(ctx, r), modify())
	})
	before := errors.Join(modify(), s.InTx(t.Context(), storetest.Adding("Ada")))
	read := s.Pets().Each(t.Context(), "", func(domain.Pet) error {
		_, err := s.Pets().Get(t.Context(), 1) // this uses another connection
		return err
	})
	after := errors.Join(modify(), s.InTx(t.Context(), storetest.Adding("Eve")))
	release()
	check(t, errors.Join(between, before, read, after))
	sqlitetest.WantPets(t, path, 4)
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

// inTransaction calls change in a transaction that must fail. The checks between transactions do not run
// meanwhile, so none of them finds the file half changed.
func inTransaction(t *testing.T, s *repository.Store, want error, change func()) {
	t.Helper()
	err := s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		change()
		return storetest.Adding("Max")(ctx, r)
	})
	testkit.WantError(t, "InTx", err, domain.ErrUnavailable, want)
}

// A check that could not read the file has not checked its content. So the next check succeeds only if it
// reads the file.
func TestContentThatCannotBeReadIsCheckedAgain(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewPath(t)
	check(t, os.Mkdir(path, 0o700)) // SQLite cannot open a folder
	sqlitetest.WriteFile("commits")(t, path+"-wal")
	file, err := storefile.New(path)
	check(t, err)
	file.Reader = storefile.OpenPool(path, storefile.ReaderPragmas)
	t.Cleanup(func() { check(t, file.Reader.Close()) })
	for i := range 2 {
		if err := file.Check(); err == nil || errors.Is(err, storefile.ErrReplaced) {
			t.Errorf("check %d: got %v, want an error of SQLite", i+1, err)
		}
	}
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
