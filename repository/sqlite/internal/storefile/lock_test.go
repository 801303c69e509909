//go:build cgo

package storefile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
)

// Another process has a lock on the folder: a shared lock while it opens the store, an exclusive one while
// it replaces it.
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
			_, err := backup.Replace(ctx, path, path+".restored", time.Now(), false)
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
				testkit.WantError(t, what, test.call(ctx, path), context.DeadlineExceeded)
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
