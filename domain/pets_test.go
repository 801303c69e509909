package domain_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"example.com/petstore/domain"
)

func TestPetNameRule(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"Rex":                         true,
		" with spaces around it ":     true,
		"犬🐶":                          true,
		"a\u200db":                    true,
		strings.Repeat("犬", 200):      true,
		strings.Repeat("a", 201):      false,
		"":                            false,
		" ":                           false,
		"\u2003\u00a0\u3000":          false,
		"a\x00b":                      false,
		"\x00a":                       false,
		"a\nb":                        false,
		"a\u0085b":                    false,
		"a\u007f":                     false,
		"not UTF-8: \xff":             false,
		"a\uffff":                     false,
		"\ufdd0a":                     false,
		"a\U0010fffeb":                false,
		strings.Repeat("\u0085", 200): false,
	} {
		if got := domain.ValidPetName(name); got != valid {
			t.Errorf("ValidPetName(%q) = %t, want %t", name, got, valid)
		}
	}
}

func TestNewPetListsEveryBrokenRule(t *testing.T) {
	t.Parallel()
	for _, pet := range []domain.NewPet{
		{Name: "a", CategoryID: math.MinInt64},
		{Name: "a", Status: domain.PetSold},
	} {
		if err := pet.Validate(); err != nil {
			t.Errorf("%+v: got %v, want no error", pet, err)
		}
	}
	wantInvalid(
		t, domain.NewPet{Name: " ", Status: "Sold"}.Validate(), domain.CodeValidationFailed,
		"name "+domain.PetNameRule+"; status "+domain.PetStatusRule,
	)
}

func TestPetQueryRejectsLimitOutsideRange(t *testing.T) {
	t.Parallel()
	for limit, valid := range map[int]bool{1: true, 20: true, 100: true, 0: false, -1: false, 101: false, math.MaxInt: false} {
		page := domain.PageRequest{Limit: limit}
		for _, err := range []error{domain.PetQuery{PageRequest: page}.Validate(), domain.OrderQuery{PageRequest: page}.Validate()} {
			if valid && err != nil {
				t.Errorf("limit %d: got %v, want no error", limit, err)
			}
			if !valid {
				wantInvalid(t, err, domain.CodeInvalidParameter, "limit must be 1 to 100")
			}
		}
	}
	wantInvalid(
		t, domain.PetQuery{Status: "lost"}.Validate(), domain.CodeInvalidParameter,
		"limit must be 1 to 100; status "+domain.PetStatusRule,
	)
}

// wantInvalid checks that err is an ErrInvalid with the code and the message.
func wantInvalid(t *testing.T, err error, code domain.Code, message string) {
	t.Helper()
	var known *domain.Error
	if !errors.Is(err, domain.ErrInvalid) || !errors.As(err, &known) || known.Code != code || known.Message != message {
		t.Errorf("got %#v, want %s: %s", err, code, message)
	}
}
