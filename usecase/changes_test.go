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
	changes := usecase.NewChanges(store, store.Changes(), clock.now, 0)
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

// TestPositionIsOldEnoughForStalePages: a page may lack what another process has just committed.
func TestPositionIsOldEnoughForStalePages(t *testing.T) {
	t.Parallel()
	const maxStaleness = 200 * time.Millisecond
	store, clock := open(t), &clock{noon}
	changes := usecase.NewChanges(store, store.Changes(), clock.now, maxStaleness)
	add := func() {
		t.Helper()
		must[any](t)(nil, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			_, err := r.Pets.Create(ctx, rex)
			return err
		}))
	}
	must[any](t)(nil, changes.Begin(t.Context()))
	start := time.Now()
	if err := changes.AwaitPosition(t.Context()); err != nil || time.Since(start) < maxStaleness {
		t.Fatalf("AwaitPosition returned %v after %s, want that it waits until a position is old enough", err, time.Since(start))
	}
	begin := noon.UnixMicro()
	var committed []time.Time // of the changes after begin
	for len(committed) < 100 {
		add()
		committed = append(committed, time.Now())
		position := must[int64](t)(changes.Position(t.Context()))
		if position > begin {
			if age := time.Since(committed[position-begin-1]); age < maxStaleness {
				t.Fatalf("got the position of a change that is %s old", age)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	if position := must[int64](t)(changes.Position(t.Context())); position == begin {
		t.Error("the position never rises")
	}

	other := usecase.NewChanges(store, store.Changes(), clock.now, 0)
	must[bool](t)(other.End(t.Context()))
	must[any](t)(nil, other.Begin(t.Context()))
	time.Sleep(maxStaleness)
	if position := must[int64](t)(changes.Position(t.Context())); position != 0 {
		t.Errorf("got the position %d of an earlier recording, want none", position)
	}
	must[any](t)(nil, changes.AwaitPosition(t.Context()))
	if got, want := must[int64](t)(changes.Position(t.Context())), must[int64](t)(other.Last(t.Context())); got != want {
		t.Errorf("got the position %d, want %d", got, want)
	}
}

// beforeBegin is a store whose changes were not recorded a moment before.
type beforeBegin struct{ port.ChangeReader }

func (beforeBegin) Recording(context.Context) (domain.Recording, error) {
	return domain.Recording{}, nil
}

func TestBeginDoesNotEndTheRecordingOfAnotherProcess(t *testing.T) {
	t.Parallel()
	store, clock := open(t), &clock{noon}
	must[any](t)(nil, usecase.NewChanges(store, store.Changes(), clock.now, 0).Begin(t.Context()))
	begun := must[domain.Recording](t)(store.Changes().Recording(t.Context()))
	clock.time = noon.Add(time.Hour)
	must[any](t)(nil, usecase.NewChanges(store, beforeBegin{store.Changes()}, clock.now, 0).Begin(t.Context()))
	if now := must[domain.Recording](t)(store.Changes().Recording(t.Context())); now != begun {
		t.Errorf("the recording was %+v, and is %+v", begun, now)
	}
}

func TestRecordingBeginsAfterAnEndThatWasInterrupted(t *testing.T) {
	t.Parallel()
	store, clock := open(t), &clock{noon}
	changes := usecase.NewChanges(store, store.Changes(), clock.now, 0)
	for range 2 {
		if err := changes.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		must[any](t)(nil, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			if _, err := r.Pets.CreateAll(ctx, slices.Repeat([]domain.NewPet{rex}, 1500)); err != nil {
				return err
			}
			_, err := r.Changes.End(ctx)
			return err
		}))
	}
	if n := must[int64](t)(store.Changes().Count(t.Context())); n != 500 {
		t.Errorf("got %d changes, want only the last 500", n)
	}
}
