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
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

// latest returns the position of the latest change.
func latest(t *testing.T, s Store) int64 {
	t.Helper()
	position, err := s.Changes().Latest(t.Context())
	testkit.Check(t, err)
	return position
}

// decoded returns a change without its time, which it checks.
func decoded(t *testing.T, recorded domain.RecordedChange) domain.Change {
	t.Helper()
	change, err := recorded.Decode()
	testkit.Check(t, err)
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
			all = append(all, decoded(t, change))
		}
		if n := len(all); n > 0 && page.Next != all[n-1].Seq {
			t.Fatalf("got the position %d after %d", page.Next, all[n-1].Seq)
		}
		if !page.More {
			return all
		}
		after = page.Next
	}
}

func changesAreThoseOfTheTransactions(t *testing.T, s Store) {
	begin := latest(t, s)
	page, err := s.Changes().List(t.Context(), domain.PageRequest{Limit: 1})
	testkit.Equal(t, "List without changes", [3]int64{0, begin, begin}, [3]int64{int64(len(page.Items)), page.Next, page.Latest}, err)

	ctx := domain.WithCaller(t.Context(), "user:ann ü\"")
	rex := testkit.Filled[domain.NewPet](t, domain.PetAvailable)
	added := addPets(t, s, rex)[0]
	failure := errors.New("no")
	err = s.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, []domain.NewPet{rex})
		return errors.Join(err, failure)
	})
	testkit.WantError(t, "InTx", err, failure)
	many, _, err := CreatePets(ctx, s, []domain.NewPet{rex, {Name: "Tom"}}, port.Claim{})
	testkit.Check(t, err)
	pending := added
	pending.Status = domain.PetPending
	var placed, cancelled domain.Order
	testkit.Check(t, s.InTx(ctx, func(ctx context.Context, r port.Repositories) error {
		placed, err = r.Orders.Create(ctx, added.ID, noon)
		return errors.Join(err, r.Pets.Update(ctx, added, pending))
	}))
	cancelled = placed
	cancelled.Status, cancelled.UpdatedAt = domain.OrderCancelled, noon.Add(time.Hour)
	inTx(t, s, func(ctx context.Context, r port.Repositories) error { return r.Orders.End(ctx, cancelled) })
	renamed := many[1]
	renamed.Name, renamed.Status, renamed.CategoryID = "Ölaf <&>\u2028", domain.PetSold, -7
	updatePet(t, s, many[1], renamed)
	removePet(t, s, renamed)

	of := func(changeType domain.ChangeType, caller string) domain.ChangeHeader {
		return domain.ChangeHeader{Type: changeType, Caller: caller}
	}
	const ann = "user:ann ü\""
	want := []domain.Change{
		{ChangeHeader: of(domain.ChangePetAdded, ""), ChangedRecords: domain.ChangedRecords{Pet: &added}},
		{ChangeHeader: of(domain.ChangePetAdded, ann), ChangedRecords: domain.ChangedRecords{Pet: &many[0]}},
		{ChangeHeader: of(domain.ChangePetAdded, ann), ChangedRecords: domain.ChangedRecords{Pet: &many[1]}},
		{ChangeHeader: of(domain.ChangeOrderPlaced, ann), ChangedRecords: domain.ChangedRecords{Order: &placed}},
		{ChangeHeader: of(domain.ChangePetUpdated, ann), ChangedRecords: domain.ChangedRecords{Pet: &pending, Before: &added}},
		{ChangeHeader: of(domain.ChangeOrderCancelled, ""), ChangedRecords: domain.ChangedRecords{Order: &cancelled}},
		{ChangeHeader: of(domain.ChangePetUpdated, ""), ChangedRecords: domain.ChangedRecords{Pet: &renamed, Before: &many[1]}},
		{ChangeHeader: of(domain.ChangePetRemoved, ""), ChangedRecords: domain.ChangedRecords{Pet: &renamed}},
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
	testkit.Equal(t, "Latest", begin+8, latest(t, s))
	testkit.Equal(t, "the number after the last", 0, len(listChanges(t, s, begin+8, 100)))
	for _, after := range []int64{1, begin - 1, begin + 9, math.MaxInt64} {
		_, err = s.Changes().List(t.Context(), domain.PageRequest{After: after, Limit: 1})
		wantCode(t, err, domain.ErrExpired, "changes_expired")
	}
	var each []domain.Change
	n, countErr := s.Changes().Count(t.Context())
	err = s.Changes().Each(t.Context(), func(change domain.RecordedChange) error {
		each = append(each, decoded(t, change))
		return nil
	})
	testkit.Equal(t, "Each", want, each, err)
	testkit.Equal(t, "Count", int64(len(want)), n, countErr)
}

func oldChangesAreRemoved(t *testing.T, s Store) {
	begin := latest(t, s)
	addTogether(t, s, slices.Repeat([]domain.NewPet{{Name: "Rex"}}, 3999))
	now := time.Now()
	remove := func(from, to time.Time) bool {
		return tx(t, s, func(ctx context.Context, r port.Repositories) (bool, error) {
			return r.Changes.RemoveOld(ctx, from, to)
		})
	}
	testkit.Equal(t, "whether changes that are not old were removed", false, remove(now.Add(-time.Hour), now.Add(time.Hour)))
	testkit.Equal(t, "whether changes before the times were removed", true, remove(now.Add(time.Hour), now.Add(2*time.Hour)))
	testkit.Equal(t, "whether changes after the times were removed", true, remove(now.Add(-2*time.Hour), now.Add(-time.Hour)))
	testkit.Equal(t, "whether one of the last 1,000 was removed", false, remove(now.Add(time.Hour), now.Add(2*time.Hour)))
	testkit.Equal(t, "Latest", begin+3999, latest(t, s))
	_, err := s.Changes().List(t.Context(), domain.PageRequest{After: begin + 1999, Limit: 1})
	wantCode(t, err, domain.ErrExpired, "changes_expired")
	for _, after := range []int64{0, begin + 2000} {
		if got := listChanges(t, s, after, 100); len(got) != 1999 || got[0].Seq != begin+2001 {
			t.Errorf("got %d changes after %d", len(got), after)
		}
	}
}

// WantConsistent compares the categories with the animals, and a replay of all changes with the records.
func WantConsistent(t testing.TB, s Store) {
	t.Helper()
	pets, err := collect(t.Context(), "", s.Pets().Each)
	orders, ordersErr := collect(t.Context(), "", s.Orders().Each)
	testkit.Check(t, errors.Join(err, ordersErr))
	counts := map[int64]*domain.Inventory{}
	var all domain.Inventory
	for _, pet := range pets {
		if counts[pet.CategoryID] == nil {
			counts[pet.CategoryID] = &domain.Inventory{}
		}
		for _, inventory := range []*domain.Inventory{&all, counts[pet.CategoryID]} {
			*map[domain.PetStatus]*int64{
				"": &inventory.None, domain.PetAvailable: &inventory.Available,
				domain.PetPending: &inventory.Pending, domain.PetSold: &inventory.Sold,
			}[pet.Status]++
		}
	}
	position, err := s.Changes().Latest(t.Context())
	testkit.Check(t, err)
	all.Position = position
	got, err := s.Pets().Inventory(t.Context(), nil)
	testkit.Equal(t, "the numbers of all animals", all, got, err)
	for category, want := range counts {
		want.Position = position
		got, err := s.Pets().Inventory(t.Context(), &category)
		testkit.Equal(t, fmt.Sprintf("the numbers of animals of the category %d", category), *want, got, err)
	}
	replayedPets, replayedOrders, names := map[int64]domain.Pet{}, map[int64]domain.Order{}, map[int64]string{}
	last := int64(0)
	testkit.Check(t, s.Changes().Each(t.Context(), func(recorded domain.RecordedChange) error {
		change, err := recorded.Decode()
		if last != 0 && change.Seq != last+1 {
			t.Errorf("the change %d follows %d", change.Seq, last)
		}
		last = change.Seq
		switch {
		case err != nil:
			return err
		case change.Order != nil:
			replayedOrders[change.Order.ID] = *change.Order
		case change.Type == domain.ChangeCategoryRemoved:
			testkit.Equal(t, "the removed name", names[change.Category.ID], change.Category.Name)
			delete(names, change.Category.ID)
		case change.Category != nil:
			names[change.Category.ID] = change.Category.Name
		case change.Type == domain.ChangePetRemoved:
			delete(replayedPets, change.Pet.ID)
		default:
			if before := replayedPets[change.Pet.ID]; change.Before != nil && before != *change.Before {
				t.Errorf("the change %d has %+v before, want %+v", change.Seq, *change.Before, before)
			}
			replayedPets[change.Pet.ID] = *change.Pet
		}
		return nil
	}))
	if last != 0 && last != position {
		t.Errorf("the last change is %d, want the position %d", last, position)
	}
	for _, pet := range pets {
		testkit.Equal(t, "a replayed animal", pet, replayedPets[pet.ID])
	}
	for _, order := range orders {
		testkit.Equal(t, "a replayed order", order, replayedOrders[order.ID])
	}
	wantCategories(t, s, names, counts)
	testkit.Equal(t, "the numbers of replayed records", [2]int{len(pets), len(orders)}, [2]int{len(replayedPets), len(replayedOrders)})
}
