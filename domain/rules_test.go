package domain_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/domain"
)

// TestRules tests values at the boundaries of the rules of what clients send.
func TestRules(t *testing.T) {
	t.Parallel()
	name := func(s string) error { return domain.NewPet{Name: s}.Validate() }
	status := func(s domain.PetStatus) error { return domain.NewPet{Name: "Rex", Status: s}.Validate() }
	of := func(limit int) domain.PageRequest { return domain.PageRequest{Limit: limit} }
	page := func(limit int) error { return of(limit).Validate() }
	pets := func(limit int, s domain.PetStatus) error {
		return domain.PetQuery{PageRequest: of(limit), Status: s}.Validate()
	}
	orders := func(limit int, s domain.OrderStatus) error {
		return domain.OrderQuery{PageRequest: of(limit), Status: s}.Validate()
	}
	key := func(s string) error { return domain.IdempotencyKey{Caller: "till", Value: s}.Validate() }
	const body, query, limit, petStatus = domain.CodeValidationFailed, domain.CodeInvalidParameter, "limit must be 1 to 100", "status " + domain.PetStatusRule
	for _, test := range []struct {
		code           domain.Code
		rule           string
		valid, invalid []error
	}{
		{body, "name " + domain.PetNameRule, []error{name("a"), name(" Rex "), name(strings.Repeat("ü", 200)), name("\u200b\u0600"), name("\ufff9"), name("\U00013430")}, []error{
			name(""), name("\u2003\u00a0"), name(strings.Repeat("a", 201)), name("\x00a"), name("a\u0085"), name("\xff"), name("\uffff"), name("\U0010fffea"),
			name("\u200b"), name("\ufeff"), name(" \u2060\u3164"), name("\u034f\ufe0f"), name("\U0001bca0\U0001d173\U000e0fff"),
		}},
		{body, petStatus, []error{status(""), status("available"), status("pending"), status("sold")}, []error{status("Sold"), status("placed"), status(" ")}},
		{query, petStatus, []error{pets(1, ""), pets(1, "sold")}, []error{pets(1, "lost")}},
		{query, "status " + domain.OrderStatusRule, []error{orders(1, "placed"), orders(1, "delivered"), orders(1, "cancelled")}, []error{orders(1, "sold")}},
		{query, limit, []error{page(1), page(100), pets(100, ""), orders(100, "")}, []error{page(-1), page(0), page(101), pets(101, ""), orders(0, "")}},
		{query, limit + "; " + petStatus, nil, []error{pets(0, "lost")}},
		{domain.CodeInvalidIdempotencyKey, "Idempotency-Key must be 1 to 255 visible ASCII characters", []error{key("!"), key("~"), key(strings.Repeat("k", 255))}, []error{
			key(""), key("a b"), key("a\x7f"), key("ü"), key(strings.Repeat("k", 256)),
		}},
	} {
		for i, err := range test.valid {
			if err != nil {
				t.Errorf("%s, valid value %d: got %v", test.rule, i, err)
			}
		}
		for i, err := range test.invalid {
			wantError(t, fmt.Sprint("invalid value ", i), err, domain.ErrInvalid, test.code, test.rule)
		}
	}
}
