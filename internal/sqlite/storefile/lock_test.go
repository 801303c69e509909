//go:build cgo

package storefile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/sqlite/backup"
	"example.com/petstore/internal/sqlite/storefile"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// The kernel does not distinguish between two locks of a process and those of two processes.
func TestOpenAndReplaceExcludeEachOther(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	sqlitetest.CopyStore(t, path, path+".restored")
	wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
	open := func(ctx context.Context, o engine.Options) error {
		database, err := sqlite.New(path).Open(ctx, o)
		if err == nil {
			err = database.Close()
		}
		return err
	}
	openShared := func(ctx context.Context) error { return open(ctx, engine.Options{}) }
	openAlone := func(ctx context.Context) error { return open(ctx, engine.Options{Exclusive: true}) }
	copyStore := func(ctx context.Context) error {
		_, err := sqlitetest.Copy(ctx, path, filepath.Join(t.TempDir(), "copy.db"))
		return err
	}
	replace := func(ctx context.Context) error {
		_, err := backup.Replace(ctx, path, path+".restored", time.Now(), false)
		return err
	}
	checkNotOpen := func(ctx context.Context) error { return backup.CheckNotOpen(ctx, path) }

	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	alone, err := storefile.LockAlone(t.Context(), path)
	check(t, err)
	for name, call := range map[string]func(context.Context) error{"open": openShared, "copy": copyStore} {
		testkit.WantError(t, name+" while it is replaced", call(short), context.DeadlineExceeded)
	}
	check(t, alone.Close())
	shared, err := storefile.LockShared(t.Context(), path)
	check(t, err)
	for name, call := range map[string]func(context.Context) error{"open alone": openAlone, "replace": replace, "CheckNotOpen": checkNotOpen} {
		testkit.WantError(t, name+" while it is open", call(t.Context()), engine.ErrInUse)
	}
	check(t, shared.Close())
	wantUnchanged()
	shared, err = storefile.LockShared(t.Context(), path)
	check(t, errors.Join(err, openShared(t.Context()), copyStore(t.Context()), shared.Close()))
	check(t, errors.Join(openAlone(t.Context()), checkNotOpen(t.Context()), replace(t.Context())))
}

// The last lock removes the file, and a process that waits locks a new one.
func TestOneLockIsHeldAtATime(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewPath(t)
	var held atomic.Int32
	const callers, times = 8, 100
	testkit.Concurrently(t, callers, func(int) (bool, error) {
		for locked := 0; locked < times; {
			lock, err := storefile.LockService(t.Context(), path, 0)
			if errors.Is(err, storefile.ErrServed) {
				continue
			}
			if err != nil {
				return false, err
			}
			locked++
			if held.Add(1) != 1 {
				err = errors.New("two callers have the lock")
			}
			_, readErr := os.ReadDir(filepath.Dir(path)) // takes some time
			held.Add(-1)
			if err := errors.Join(err, readErr, lock.Close()); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	entries, err := os.ReadDir(filepath.Dir(path))
	testkit.Equal(t, "the number of files that are left", 0, len(entries), err)
}

// The user of the service must be able to lock a store while a command of root has it open.
func TestFileOfLockHasTheModeAndTheOwnerOfTheStore(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	check(t, os.Chmod(path, 0o640))
	if os.Getuid() == 0 {
		check(t, os.Chown(path, 65532, 65533))
	}
	lock, err := storefile.LockShared(t.Context(), path)
	check(t, err)
	defer func() { check(t, lock.Close()) }()
	access := func(path string) (of [3]uint32) {
		info, err := os.Stat(path)
		check(t, err)
		stat := info.Sys().(*syscall.Stat_t)
		return [3]uint32{uint32(info.Mode()), stat.Uid, stat.Gid}
	}
	testkit.Equal(t, "the mode and the owner", access(path), access(path+"-lock"))
}

// Whoever may write to the folder must not have root change the mode of another file.
func TestLockFollowsNoSymbolicLink(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	check(t, os.Symlink(path, path+"-lock"))
	_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
	testkit.WantError(t, "Open", err, syscall.ELOOP)
}
