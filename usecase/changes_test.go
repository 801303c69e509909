package usecase_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/domain/port"
	"example.com/petstore/usecase"
)

func TestChangesAreRecordedUntilTheyAreOldOrEnd(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	if must[bool](t)(s.changes.End(t.Context())) {
		t.Error("without changes: got that some were removed")
	}
	must[bool](t)(s.changes.Begin(t.Context()))
	s.addPets(t, 1500)
	check(t, s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Changes.End(ctx) // removes one batch and leaves 500 changes, as an interrupted End does
		return err
	}))
	if !must[bool](t)(s.changes.Begin(t.Context())) || must[bool](t)(s.changes.Begin(t.Context())) {
		t.Error("want that only the first call begins to record")
	}
	s.addPets(t, 3500)
	s.now = time.Now() // the time of the database
	wantCount := func(want int64) {
		t.Helper()
		if n := must[int64](t)(s.Changes().Count(t.Context())); n != want {
			t.Errorf("got %d changes, want %d", n, want)
		}
	}
	for _, want := range []int64{3500, 1500} {
		check(t, s.changes.RemoveOld(t.Context(), time.Hour))
		wantCount(want)
		s.now = s.now.Add(61 * time.Minute)
	}
	if !must[bool](t)(s.changes.End(t.Context())) {
		t.Error("got that no changes were removed")
	}
	wantCount(0)
}

// TestPositionIsOldEnoughForStalePages expects an old position, because a page may lack what another
// process has just committed.
func TestPositionIsOldEnoughForStalePages(t *testing.T) {
	t.Parallel()
	database := sqliteDatabase(t) // in synctest nothing may wait for a network, as PostgreSQL does
	synctest.Test(t, func(t *testing.T) {
		s := newTestStoreOf(t, database)
		changes := usecase.NewChanges(s, s.Changes(), s.clock, time.Second)
		must[bool](t)(changes.Begin(t.Context()))
		start := time.Now()
		if check(t, changes.AwaitPosition(t.Context())); time.Since(start) != time.Second {
			t.Errorf("AwaitPosition took %s, want 1s: until a position is old enough", time.Since(start))
		}
		begin := must[int64](t)(changes.Last(t.Context()))
		want := func(want int64) {
			t.Helper()
			if got := must[int64](t)(changes.Position(t.Context())); got != want {
				t.Errorf("after %s: got the position %d, want %d", time.Since(start), got, want)
			}
		}
		want(begin)
		s.addPets(t, 1)
		time.Sleep(time.Second - time.Nanosecond)
		s.addPets(t, 1)
		want(begin)
		time.Sleep(time.Nanosecond)
		want(begin) // the last position that was read at least a second before
		time.Sleep(time.Second)
		want(begin + 2)

		must[bool](t)(s.changes.End(t.Context()))
		must[bool](t)(s.changes.Begin(t.Context()))
		time.Sleep(time.Second)
		want(0) // a position of an earlier recording is not used
		time.Sleep(time.Second)
		want(must[int64](t)(s.changes.Last(t.Context())))
	})
}
