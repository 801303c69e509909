package domain_test

import (
	"errors"
	"testing"

	"example.com/petstore/domain"
)

// TestOrderTransitions tests every combination of status and transition.
func TestOrderTransitions(t *testing.T) {
	t.Parallel()
	const moves, repeats, conflicts = "moves", "repeats", "conflicts"
	transitions := map[string]domain.Transition{"deliver": domain.Delivery(), "cancel": domain.Cancellation()}
	for status, want := range map[domain.OrderStatus]map[string]string{
		domain.OrderPlaced:    {"deliver": moves, "cancel": moves},
		domain.OrderDelivered: {"deliver": repeats, "cancel": conflicts},
		domain.OrderCancelled: {"deliver": conflicts, "cancel": repeats},
	} {
		for name, transition := range transitions {
			err := transition.CheckRepeat(domain.Order{ID: 1, Status: status})
			got := repeats
			switch {
			case status == transition.From:
				got = moves
			case errors.Is(err, domain.ErrConflict):
				got = conflicts
			}
			if got != want[name] {
				t.Errorf("%s an order that is %s: got %s, want %s", name, status, got, want[name])
			}
			if got == moves && err == nil {
				t.Errorf("%s an order that stayed %s: got no error", name, status)
			}
		}
	}
}

func TestTransitionChangesOrderAndAnimal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		transition domain.Transition
		order      domain.OrderStatus
		pet        domain.PetStatus
	}{
		"deliver": {domain.Delivery(), domain.OrderDelivered, domain.PetSold},
		"cancel":  {domain.Cancellation(), domain.OrderCancelled, domain.PetAvailable},
	} {
		want := domain.Transition{From: domain.OrderPlaced, To: test.order, PetFrom: domain.PetPending, PetTo: test.pet}
		if test.transition != want {
			t.Errorf("%s: got %+v, want %+v", name, test.transition, want)
		}
	}
}

func TestOrderableStatuses(t *testing.T) {
	t.Parallel()
	orderable := map[domain.PetStatus]bool{}
	for _, status := range domain.Orderable() {
		orderable[status] = true
	}
	for status, want := range map[domain.PetStatus]bool{
		"": true, domain.PetAvailable: true, domain.PetPending: false, domain.PetSold: false,
	} {
		if orderable[status] != want {
			t.Errorf("status %q: got orderable %t, want %t", status, orderable[status], want)
		}
	}
}

func TestOrderQueryListsEveryBrokenRule(t *testing.T) {
	t.Parallel()
	wantInvalid(
		t, domain.OrderQuery{Status: "sold"}.Validate(), domain.CodeInvalidParameter,
		"limit must be 1 to 100; status must be placed, delivered or cancelled",
	)
	for _, status := range []domain.OrderStatus{"", domain.OrderPlaced, domain.OrderDelivered, domain.OrderCancelled} {
		if err := (domain.OrderQuery{PageRequest: domain.PageRequest{Limit: 1}, Status: status}).Validate(); err != nil {
			t.Errorf("%q: got %v, want no error", status, err)
		}
	}
}
