package usecase_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/usecase"
)

func TestOldChangesAreRemoved(t *testing.T) {
	t.Parallel()
	store, clock := open(t), &clock{noon}
	changes := usecase.NewChanges(store, store.Changes(), clock.now)
	wantCount := func(want int64) {
		t.Helper()
		if n, err := store.Changes().Count(t.Context()); err != nil || n != want {
			t.Errorf("got %d changes and %v, want %d", n, err, want)
		}
	}
	if removed, err := changes.End(t.Context()); removed || err != nil {
		t.Errorf("without changes: got %t, %v", removed, err)
	}
	for range 2 {
		if err := changes.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	must[any](t)(nil, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.CreateAll(ctx, slices.Repeat([]domain.NewPet{rex}, 2500))
		return err
	}))
	clock.time = time.Now() // that of the database
	for _, want := range []int64{2500, 500} {
		if err := changes.RemoveOld(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		wantCount(want)
		clock.time = clock.time.Add(61 * time.Minute)
	}
	if removed, err := changes.End(t.Context()); !removed || err != nil {
		t.Errorf("got %t, %v, want that changes were removed", removed, err)
	}
	wantCount(0)
}
