package domain_test

import (
	"testing"

	"example.com/petstore/domain"
)

func TestOrderQueryValidate(t *testing.T) {
	t.Parallel()
	status := func(s domain.OrderStatus) error {
		return domain.OrderQuery{PageRequest: domain.PageRequest{Limit: domain.DefaultLimit}, Status: s}.Validate()
	}
	wantRule(t, status, domain.CodeInvalidParameter, "status "+domain.OrderStatusRule,
		[]domain.OrderStatus{"", "placed", "delivered", "cancelled"}, []domain.OrderStatus{"sold", "Placed"})
}

func TestOrderThatATransitionDidNotChange(t *testing.T) {
	t.Parallel()
	for status, transition := range map[domain.OrderStatus]domain.Transition{
		domain.OrderDelivered: domain.Delivery(), domain.OrderCancelled: domain.Cancellation(),
	} {
		for _, got := range []domain.OrderStatus{domain.OrderPlaced, domain.OrderDelivered, domain.OrderCancelled} {
			err := transition.CheckRepeat(domain.Order{ID: 7, Status: got})
			if got == status && err != nil {
				t.Errorf("%s again: got %v, want no error", got, err)
			} else if got != status {
				wantError(t, err, domain.ErrConflict, domain.CodeOrderStateConflict, "the order with the id 7 is "+string(got)+" and cannot become "+string(status))
			}
		}
	}
}
