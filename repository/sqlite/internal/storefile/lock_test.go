//go:build cgo

package storefile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/storetest"
)

// A store is not opened while another process replaces it, and not replaced or copied while
// another process is opening it.
func TestOpenAndReplaceExcludeEachOther(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		how  int // of the lock of the other process
		call func(ctx context.Context, path string) error
		want error
	}{
		"open while it is replaced":    {unix.LOCK_EX, openStore, context.DeadlineExceeded},
		"open while it is opened":      {unix.LOCK_SH, openStore, nil},
		"copy while it is replaced":    {unix.LOCK_EX, copyToTemp, context.DeadlineExceeded},
		"copy while it is opened":      {unix.LOCK_SH, copyToTemp, nil},
		"replace while it is replaced": {unix.LOCK_EX, replaceStore, context.DeadlineExceeded},
		"replace while it is opened":   {unix.LOCK_SH, replaceStore, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewStoreWithPet(t)
			sqlitetest.CopyStore(t, path, path+".restored")
			folder, err := os.Open(filepath.Dir(path))
			check(t, err)
			check(t, unix.Flock(int(folder.Fd()), test.how))
			wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
			ctx := t.Context()
			if test.want != nil { // else it does not wait for the lock
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			storetest.WantError(t, "the error", test.call(ctx, path), test.want)
			if test.want != nil {
				wantUnchanged()
			}
			check(t, folder.Close())
			check(t, test.call(t.Context(), path))
		})
	}
}

func openStore(ctx context.Context, path string) error {
	store, err := repository.Open(ctx, sqlite.New(path), repository.Options{})
	if err != nil {
		return err
	}
	return store.Close()
}

func copyToTemp(ctx context.Context, path string) error {
	file, err := os.CreateTemp("", "copy")
	if err != nil {
		return err
	}
	_, err = backup.Copy(ctx, path, file, sqlitetest.Ignore)
	return errors.Join(err, os.Remove(file.Name()), file.Close())
}

func replaceStore(ctx context.Context, path string) error {
	_, err := backup.Replace(ctx, path, path+".restored", time.Now())
	return err
}
