package domain_test

import (
	"testing"

	"example.com/petstore/domain"
)

func TestOrderQueryRejectsUnknownAndRepeatedStatuses(t *testing.T) {
	t.Parallel()
	query := func(s ...domain.OrderStatus) error {
		return domain.OrderQuery{PageRequest: domain.PageRequest{Limit: 1}, Statuses: s}.Validate()
	}
	checkRule(t, domain.CodeInvalidParameter, "status "+domain.OrderStatusesRule,
		[]error{query(), query("placed", "delivered", "cancelled")}, []error{query("sold"), query(""), query("placed", "placed")})
}
