package domain_test

import (
	"testing"

	"example.com/petstore/domain"
)

const limitRule = "limit must be 1 to 100"

func TestLimitIsFrom1To100(t *testing.T) {
	t.Parallel()
	page := func(limit int) domain.PageRequest { return domain.PageRequest{Limit: limit} }
	pets := func(limit int) error { return domain.PetQuery{PageRequest: page(limit)}.Validate() }
	orders := func(limit int) error { return domain.OrderQuery{PageRequest: page(limit)}.Validate() }
	checkRule(t, domain.CodeInvalidParameter, limitRule,
		[]error{page(1).Validate(), page(100).Validate(), pets(100), orders(100)},
		[]error{page(-1).Validate(), page(0).Validate(), page(101).Validate(), pets(101), orders(0)})
}
