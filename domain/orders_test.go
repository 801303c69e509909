package domain_test

import (
	"errors"
	"testing"

	"example.com/petstore/domain"
)

// TestOrderTransitions walks every status under every act.
func TestOrderTransitions(t *testing.T) {
	t.Parallel()
	const moves, repeats, conflicts = "moves", "repeats", "conflicts"
	acts := map[string]domain.Transition{"deliver": domain.Delivery(), "cancel": domain.Cancellation()}
	for status, want := range map[domain.OrderStatus]map[string]string{
		domain.OrderPlaced:    {"deliver": moves, "cancel": moves},
		domain.OrderDelivered: {"deliver": repeats, "cancel": conflicts},
		domain.OrderCancelled: {"deliver": conflicts, "cancel": repeats},
	} {
		for act, transition := range acts {
			err := transition.CheckRepeat(domain.Order{ID: 1, Status: status})
			got := repeats
			switch {
			case status == transition.From:
				got = moves
			case errors.Is(err, domain.ErrConflict):
				got = conflicts
			}
			if got != want[act] {
				t.Errorf("%s an order that is %s: %s, want %s", act, status, got, want[act])
			}
			if got == moves && err == nil {
				t.Errorf("%s an order that stayed %s passes for done", act, status)
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
			t.Errorf("%s is %+v, want %+v", name, test.transition, want)
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
			t.Errorf("an animal that is %q can be ordered: %t", status, orderable[status])
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
			t.Errorf("%q: %v", status, err)
		}
	}
}
