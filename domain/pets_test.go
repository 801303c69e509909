package domain_test

import (
	"strings"
	"testing"

	"example.com/petstore/domain"
)

func TestNewPetValidate(t *testing.T) {
	t.Parallel()
	name := func(s string) error { return domain.NewPet{Name: s}.Validate() }
	wantRule(t, name, domain.CodeValidationFailed, "name "+domain.PetNameRule,
		[]string{"a", " Rex ", strings.Repeat("ü", 200)},
		[]string{"", "\u2003\u00a0", strings.Repeat("a", 201), "\x00a", "a\u0085", "not UTF-8: \xff", "a\uffff", "\U0010fffea"})
	status := func(s domain.PetStatus) error { return domain.NewPet{Name: "Rex", Status: s}.Validate() }
	wantRule(t, status, domain.CodeValidationFailed, "status "+domain.PetStatusRule, append(domain.PetStatuses(), ""), []domain.PetStatus{"Sold", "placed", " "})
	err := domain.NewPet{Status: "lost"}.Validate()
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed, "name "+domain.PetNameRule+"; status "+domain.PetStatusRule)
}

func TestPetQueryValidate(t *testing.T) {
	t.Parallel()
	limit := func(n int) error { return domain.PetQuery{PageRequest: domain.PageRequest{Limit: n}}.Validate() }
	wantRule(t, limit, domain.CodeInvalidParameter, "limit must be 1 to 100", []int{1, 100}, []int{-1, 0, 101})
	status := func(s domain.PetStatus) error {
		return domain.PetQuery{PageRequest: domain.PageRequest{Limit: domain.DefaultLimit}, Status: s}.Validate()
	}
	wantRule(t, status, domain.CodeInvalidParameter, "status "+domain.PetStatusRule, []domain.PetStatus{"", "sold"}, []domain.PetStatus{"lost"})
	err := domain.PetQuery{Status: "lost"}.Validate()
	wantError(t, err, domain.ErrInvalid, domain.CodeInvalidParameter, "limit must be 1 to 100; status "+domain.PetStatusRule)
}
