package domain_test

import (
	"testing"

	"example.com/petstore/domain"
)

func TestOrderStatusRule(t *testing.T) {
	t.Parallel()
	query := func(s domain.OrderStatus) error {
		return domain.OrderQuery{PageRequest: domain.PageRequest{Limit: 1}, Status: s}.Validate()
	}
	checkRule(t, domain.CodeInvalidParameter, "status "+domain.OrderStatusRule,
		[]error{query(""), query("placed"), query("delivered"), query("cancelled")}, []error{query("sold")})
}
