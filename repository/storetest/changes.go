package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
)

// beginChanges begins to record changes at noon and returns the position.
func beginChanges(t *testing.T, s Store) int64 {
	t.Helper()
	begin(t, s, noon)
	recording := recordingOf(t, s)
	if !recording.Active || recording.KeptAfter < noon.UnixMicro() {
		t.Fatalf("got %+v", recording)
	}
	return recording.Last
}

func recordingOf(t *testing.T, s Store) domain.Recording {
	t.Helper()
	recording, err := s.Changes().Recording(t.Context())
	testkit.Check(t, err)
	return recording
}

// begin begins to record changes.
func begin(t *testing.T, s Store, at time.Time) {
	t.Helper()
	if tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) { return r.Changes.Begin(ctx, at) }) {
		t.Error("Begin removed changes")
	}
}

// withoutTime checks the time of a change, and returns the rest.
func withoutTime(t *testing.T, change domain.Change) domain.Change {
	t.Helper()
	if age := time.Since(change.At); age < -time.Minute || age > time.Hour || change.At.Location() != time.UTC || change.At.Nanosecond()%1e6 != 0 {
		t.Errorf("%s has the time %s", change.Type, change.At)
	}
	change.At = time.Time{}
	return change
}

// listChanges returns the changes after a position without their times, read in pages.
func listChanges(t *testing.T, s Store, after int64, limit int) (all []domain.Change) {
	t.Helper()
	for {
		page, err := s.Changes().List(t.Context(), domain.PageRequest{After: after, Limit: limit})
		testkit.Check(t, err)
		for _, change := range page.Items {
			all = append(all, withoutTime(t, change))
		}
		if n := len(all); n > 0 && page.Position != all[n-1].Seq {
			t.Fatalf("got the position %d after %d", page.Position, all[n-1].Seq)
		}
		if !page.More {
			return all
		}
		after = page.Position
	}
}

func changesAreThoseOfTheTransactions(t *testing.T, s Store) {
	_, err := s.Changes().List(t.Context(), domain.PageRequest{Limit: 1})
	wantCode(t, err, domain.ErrUnavailable, "unavailable")
	unrecorded := addPets(t, s, domain.NewPet{Name: "Old", CategoryID: 1})[0]
	begin := beginChanges(t, s)
	testkit.Equal(t, "the position after another Begin", begin, beginChanges(t, s))
	page, err := s.Changes().List(t.Context(), domain.PageRequest{Limit: 1})
	testkit.Equal(t, "List without changes", [2]int64{0, begin}, [2]int64{int64(len(page.Items)), page.Position}, err)

	rex := testkit.Filled[domain.NewPet](t, domain.PetAvailable)
	added := addPets(t, s, rex)[0]
	failure := errors.New("no")
	err = s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, []domain.NewPet{rex})
		return errors.Join(err, failure)
	})
	testkit.WantError(t, "InTx", err, failure)
	many := addTogether(t, s, []domain.NewPet{rex, {Name: "Tom"}})
	placed := tx(t, s, func(ctx context.Context, r port.Repositories) (domain.Order, error) {
		order, err := r.Orders.Create(ctx, added.ID, noon)
		if err == nil {
			_, err = r.Pets.ChangeStatusIf(ctx, added.ID, []domain.PetStatus{domain.PetAvailable}, domain.PetPending)
		}
		return order, err
	})
	later := noon.Add(time.Hour)
	moveOrder(t, s, placed.ID, domain.OrderCancelled, later)
	movePet(t, s, unrecorded.ID, domain.PetSold, "")

	renamed := unrecorded
	renamed.Name, renamed.Status = "Ölaf", ""
	sold := unrecorded
	sold.Status = domain.PetSold
	testkit.Equal(t, "Replace and Remove", [2]bool{true, true}, [2]bool{replacePet(t, s, sold, renamed), removePet(t, s, renamed)})

	pending, cancelled := added, placed
	pending.Status = domain.PetPending
	cancelled.Status, cancelled.UpdatedAt = domain.OrderCancelled, later
	want := []domain.Change{
		{Type: domain.ChangePetAdded, Pet: &added},
		{Type: domain.ChangePetAdded, Pet: &many[0]},
		{Type: domain.ChangePetAdded, Pet: &many[1]},
		{Type: domain.ChangeOrderPlaced, Order: &placed},
		{Type: domain.ChangePetUpdated, Pet: &pending},
		{Type: domain.ChangeOrderCancelled, Order: &cancelled},
		{Type: domain.ChangePetUpdated, Pet: &sold},
		{Type: domain.ChangePetUpdated, Pet: &renamed},
		{Type: domain.ChangePetRemoved, Pet: &renamed},
	}
	for i := range want {
		want[i].Seq = begin + int64(i) + 1
	}
	for _, limit := range []int{1, 2, 7, 100} {
		for _, after := range []int64{0, begin} {
			testkit.Equal(t, fmt.Sprintf("pages of %d after %d", limit, after), want, listChanges(t, s, after, limit))
		}
	}
	testkit.Equal(t, "after the fifth", want[5:], listChanges(t, s, begin+5, 100))
	testkit.Equal(t, "Recording", domain.Recording{Active: true, KeptAfter: begin, Last: begin + 9}, recordingOf(t, s))
	testkit.Equal(t, "the number after the last", 0, len(listChanges(t, s, begin+9, 100)))
	for _, after := range []int64{1, begin - 1, begin + 10, math.MaxInt64} {
		_, err = s.Changes().List(t.Context(), domain.PageRequest{After: after, Limit: 1})
		wantCode(t, err, domain.ErrExpired, "changes_expired")
	}
	var each []domain.Change
	n, countErr := s.Changes().Count(t.Context())
	err = s.Changes().Each(t.Context(), func(change domain.Change) error {
		each = append(each, withoutTime(t, change))
		return nil
	})
	testkit.Equal(t, "Each", want, each, err)
	testkit.Equal(t, "Count", int64(9), n, countErr)
}

func oldChangesAreRemovedAndAllAfterTheEnd(t *testing.T, s Store) {
	begun := beginChanges(t, s)
	addTogether(t, s, slices.Repeat([]domain.NewPet{{Name: "Rex"}}, 3999))
	now := time.Now() //nolint:forbidigo // the time of the database
	remove := func(from, to time.Time) bool {
		return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) {
			return r.Changes.RemoveOld(ctx, from, to)
		})
	}
	testkit.Equal(t, "whether changes that are not old were removed", false, remove(now.Add(-time.Hour), now.Add(time.Hour)))
	testkit.Equal(t, "whether changes before the times were removed", true, remove(now.Add(time.Hour), now.Add(2*time.Hour)))
	testkit.Equal(t, "whether changes after the times were removed", true, remove(now.Add(-2*time.Hour), now.Add(-time.Hour)))
	testkit.Equal(t, "whether one of the last 1,000 was removed", false, remove(now.Add(time.Hour), now.Add(2*time.Hour)))
	testkit.Equal(t, "Recording", domain.Recording{Active: true, KeptAfter: begun + 2000, Last: begun + 3999}, recordingOf(t, s))
	_, err := s.Changes().List(t.Context(), domain.PageRequest{After: begun + 1999, Limit: 1})
	wantCode(t, err, domain.ErrExpired, "changes_expired")
	for _, after := range []int64{0, begun + 2000} {
		if got := listChanges(t, s, after, 100); len(got) != 1999 || got[0].Seq != begun+2001 {
			t.Errorf("got %d changes after %d", len(got), after)
		}
	}

	end := func() bool {
		return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) { return r.Changes.End(ctx) })
	}
	for i, want := range []int64{begun + 3000, begun + 3999} {
		testkit.Equal(t, "whether there are more changes to remove", i == 0, end())
		testkit.Equal(t, "Recording", domain.Recording{KeptAfter: want, Last: begun + 3999}, recordingOf(t, s))
	}
	addPets(t, s, domain.NewPet{Name: "Tom"})
	n, err := s.Changes().Count(t.Context())
	testkit.Equal(t, "the number of changes", int64(0), n, err)
	for _, at := range []time.Time{time.UnixMilli(1), noon.Add(time.Second)} { // a clock that was set back, too
		last := recordingOf(t, s).Last
		var lost domain.Recording // begun in a transaction that is rolled back, as if this store was lost
		failure := errors.New("lost")
		testkit.WantError(t, "InTx", s.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			_, err := r.Changes.Begin(ctx, at)
			if err == nil {
				lost, err = r.Changes.Recording(ctx)
			}
			return errors.Join(err, failure)
		}), failure)
		begin(t, s, at)
		for _, got := range []domain.Recording{lost, recordingOf(t, s)} {
			if !got.Active || got.Last != got.KeptAfter || got.Last <= max(last, at.UnixMicro()) || got.Last >= 1<<53 {
				t.Errorf("got %+v after the position %d and the time %d", got, last, at.UnixMicro())
			}
		}
		if distance := lost.Last - recordingOf(t, s).Last; -1000 < distance && distance < 1000 {
			t.Errorf("two recordings begin %d positions apart, so that one may use those of the other", distance)
		}
		_, err := s.Changes().List(t.Context(), domain.PageRequest{After: last, Limit: 1})
		wantCode(t, err, domain.ErrExpired, "changes_expired")
		testkit.Equal(t, "the number of changes", 0, len(listChanges(t, s, 0, 1)))
		end()
	}
}
