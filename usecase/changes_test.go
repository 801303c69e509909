package usecase_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

// Changes that are later than the retention from now have a wrong time: they are removed, too.
func TestChangesAreRemovedAfterTheRetention(t *testing.T) {
	t.Parallel()
	for passed, want := range map[time.Duration]int64{
		0: 3500, time.Hour: 3500, time.Hour + time.Millisecond: 1500, -time.Hour: 3500, -time.Hour - time.Millisecond: 1500,
	} {
		s := newTestStore(t)
		begin := must[int64](t)(s.changes.Latest(t.Context()))
		s.addPets(t, 3500)
		s.now = noon.Add(passed)
		check(t, s.changes.RemoveOld(t.Context(), time.Hour)) // in batches of 1,000, until less than 2,000 are left
		if n := must[int64](t)(s.Changes().Count(t.Context())); n != want {
			t.Errorf("after %s: got %d changes, want %d", passed, n, want)
		}
		if got := must[int64](t)(s.changes.Latest(t.Context())); got != begin+3500 {
			t.Errorf("after %s: got the latest position %d, want %d", passed, got, begin+3500)
		}
		_, err := s.changes.List(t.Context(), domain.PageRequest{After: begin, Limit: 1})
		if want == 3500 {
			check(t, err)
		} else {
			wantError(t, err, domain.ErrExpired, domain.CodeChangesExpired)
		}
	}
}

// recorded returns the changes after a position, without their times.
func (s *testStore) recorded(t *testing.T, after int64) (all []domain.Change) {
	t.Helper()
	page := must[domain.ChangePage](t)(s.changes.List(t.Context(), domain.PageRequest{After: after, Limit: 100}))
	for _, recorded := range page.Items {
		change := must[domain.Change](t)(recorded.Decode())
		change.At = time.Time{}
		all = append(all, change)
	}
	return all
}

func TestOperationRecordsWhoChangedWhatAndWhatItWasBefore(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	position := must[int64](t)(s.changes.Latest(t.Context()))
	pet := func(status domain.PetStatus) *domain.Pet {
		return &domain.Pet{ID: 1, Name: "Rex", CategoryID: 7, Status: status}
	}
	ofPet := func(changeType domain.ChangeType, after, before *domain.Pet) (c domain.Change) {
		c.Type, c.Pet, c.Before = changeType, after, before
		return c
	}
	ofOrder := func(changeType domain.ChangeType, status domain.OrderStatus) (c domain.Change) {
		c.Type, c.Order = changeType, &domain.Order{ID: 1, PetID: 1, Status: status, CreatedAt: noon, UpdatedAt: noon}
		return c
	}
	for _, step := range []struct {
		caller string
		do     func(context.Context) error
		want   []domain.Change // of the first call; a second one changes nothing
	}{
		{"key:3", func(ctx context.Context) error {
			_, _, err := s.pets.Create(ctx, rex, keyOf("3", "create"))
			return err
		}, []domain.Change{ofPet(domain.ChangePetAdded, pet("available"), nil)}},
		{"user:ann", func(ctx context.Context) error {
			_, _, err := s.orders.Place(ctx, 1, keyOf("3", "place"))
			return err
		}, []domain.Change{
			ofPet(domain.ChangePetUpdated, pet("pending"), pet("available")),
			ofOrder(domain.ChangeOrderPlaced, domain.OrderPlaced),
		}},
		{"", func(ctx context.Context) error {
			_, _, err := s.orders.Cancel(ctx, 1)
			return err
		}, []domain.Change{
			ofOrder(domain.ChangeOrderCancelled, domain.OrderCancelled),
			ofPet(domain.ChangePetUpdated, pet("available"), pet("pending")),
		}},
		{"command:repair", func(ctx context.Context) error {
			_, _, err := s.pets.Update(ctx, 1, domain.PetPatch{Status: new(domain.PetStatus)}, nil)
			return err
		}, []domain.Change{ofPet(domain.ChangePetUpdated, pet(""), pet("available"))}},
		{"key:4", func(ctx context.Context) error {
			if err := s.pets.Delete(ctx, 1, nil); !errors.Is(err, domain.ErrNotFound) {
				return err
			}
			return nil
		}, []domain.Change{ofPet(domain.ChangePetRemoved, pet(""), nil)}},
	} {
		ctx := t.Context()
		if step.caller != "" {
			ctx = domain.WithCaller(ctx, step.caller)
		}
		for i := range step.want {
			step.want[i].Seq, step.want[i].Caller = position+int64(i)+1, step.caller
		}
		for range 2 {
			check(t, step.do(ctx))
			if diff := cmp.Diff(step.want, s.recorded(t, position)); diff != "" {
				t.Errorf("%s: changes (-want +got)\n%s", step.caller, diff)
			}
		}
		position += int64(len(step.want))
	}
}
