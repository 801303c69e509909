package repository_test

import (
	"context"
	"testing"
	"time"

	"example.com/petstore/domain/port"
	"example.com/petstore/repository/storetest"
)

// TestFailedRemovalKeepsAllChanges fails the second statement of a removal.
func TestFailedRemovalKeepsAllChanges(t *testing.T) {
	t.Parallel()
	store, db := openSQLite(t)
	inTx(t, store, func(ctx context.Context, r port.Repositories) error {
		_, err := r.Changes.Begin(ctx, time.Now())
		return err
	})
	inTx(t, store, adding("Rex"))
	before, err := store.Changes().Recording(t.Context())
	check(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TRIGGER fails BEFORE DELETE ON changes BEGIN SELECT RAISE(FAIL, 'no'); END")
	check(t, err)
	err = store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Changes.End(ctx)
		return err
	})
	if err == nil {
		t.Error("the removal did not fail")
	}
	after, err := store.Changes().Recording(t.Context())
	storetest.Equal(t, "Recording", before, after, err)
}
