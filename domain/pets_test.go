package domain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

func TestPetHasTheFieldsOfNewPet(t *testing.T) {
	t.Parallel()
	pet := testkit.Filled[domain.NewPet](t)
	testkit.WantFilled(t, pet.WithID(7))
	testkit.Equal(t, "New of WithID", pet, pet.WithID(7).New())
	stored, err := json.Marshal(pet.WithID(7)) // of idempotency keys
	var read domain.Pet
	testkit.Equal(t, "the stored result", nil, json.Unmarshal(stored, &read), err)
	testkit.Equal(t, "the pet", pet.WithID(7), read)
}

func TestPetNameRule(t *testing.T) {
	t.Parallel()
	name := func(s string) error { return domain.NewPet{Name: s}.Validate() }
	checkRule(t, domain.CodeValidationFailed, "name "+domain.PetNameRule,
		[]error{name("a"), name(" Rex "), name(strings.Repeat("ü", 200)), name("\u200b\u0600"), name("\ufff9"), name("\U00013430")},
		[]error{
			name(""), name("\u2003\u00a0"), name(strings.Repeat("a", 201)), name("\x00a"), name("a\u0085"), name("\xff"), name("\uffff"),
			name("\U0010fffea"), name("\u200b"), name("\ufeff"), name(" \u2060\u3164"), name("\u034f\ufe0f"), name("\U0001bca0\U0001d173\U000e0fff"),
		})
}

func TestPetStatusRule(t *testing.T) {
	t.Parallel()
	const rule = "status " + domain.PetStatusRule
	status := func(s domain.PetStatus) error { return domain.NewPet{Name: "Rex", Status: s}.Validate() }
	checkRule(t, domain.CodeValidationFailed, rule,
		[]error{status(""), status("available"), status("pending"), status("sold")},
		[]error{status("Sold"), status("placed"), status(" ")})
	query := func(limit int, s domain.PetStatus) error {
		return domain.PetQuery{PageRequest: domain.PageRequest{Limit: limit}, Status: s}.Validate()
	}
	checkRule(t, domain.CodeInvalidParameter, rule, []error{query(1, ""), query(1, "sold")}, []error{query(1, "lost")})
	checkRule(t, domain.CodeInvalidParameter, limitRule+"; "+rule, nil, []error{query(0, "lost")})
}
