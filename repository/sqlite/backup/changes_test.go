//go:build cgo

package backup_test

import (
	"context"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/storetest"
)

// The clock was ahead when the recording began. The backup is from before the last change.
func TestReplaceContinuesAboveThePositionsOfThePreviousStore(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	store := sqlitetest.Open(t, path)
	recording := func(store *repository.Store) domain.Recording {
		r, err := store.Changes().Recording(t.Context())
		check(t, err)
		return r
	}
	check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Changes.Begin(ctx, at.AddDate(1, 0, 0))
		return err
	}))
	check(t, store.InTx(t.Context(), storetest.Adding("Tom")))
	sqlitetest.CopyStore(t, path, path+".restored")
	check(t, store.InTx(t.Context(), storetest.Adding("Ada")))
	last := recording(store).Last
	check(t, store.Close())
	_, err := backup.Replace(t.Context(), path, path+".restored", at)
	check(t, err)
	restored := sqlitetest.Open(t, path)
	testkit.Equal(t, "Recording", domain.Recording{KeptAfter: last, Last: last}, recording(restored))
	check(t, restored.Close())
}
