package domain_test

import (
	"math"
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

func TestQueriesRejectInvalidAndRepeatedIDs(t *testing.T) {
	t.Parallel()
	const rule = "id " + domain.IDsRule
	var many []int64
	for id := range int64(101) {
		many = append(many, id+1)
	}
	// The limit may be 0, because Validate does not check the limit of a query with ids.
	for _, query := range []func(ids ...int64) error{
		func(ids ...int64) error { return domain.PetQuery{IDs: ids}.Validate() },
		func(ids ...int64) error { return domain.OrderQuery{IDs: ids}.Validate() },
	} {
		checkRule(t, domain.CodeInvalidParameter, rule,
			[]error{query(1), query(math.MaxInt64, 1), query(many[:100]...)},
			[]error{query([]int64{}...), query(0), query(2, -1), query(1, 2, 1), query(many...)})
	}
	checkRule(t, domain.CodeInvalidParameter, rule+"; status "+domain.PetStatusesRule, nil,
		[]error{domain.PetQuery{IDs: []int64{0}, Statuses: []domain.PetStatus{"lost"}}.Validate()})
}
