package domain_test

import (
	"encoding/json"
	"slices"
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
	stored, err := json.Marshal(pet.WithID(7)) // results of idempotency keys are stored like this
	var read domain.Pet
	testkit.Equal(t, "the stored result", nil, json.Unmarshal(stored, &read), err)
	testkit.Equal(t, "the pet", pet.WithID(7), read)
}

func TestPetNameIsNotBlankAndHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	name := func(s string) error { return domain.NewPet{Name: s}.Validate() }
	checkRule(t, domain.CodeValidationFailed, "name "+domain.PetNameRule,
		[]error{name("a"), name(" Rex "), name(strings.Repeat("ü", 200)), name("\u200b\u0600"), name("\ufff9"), name("\U00013430")},
		[]error{
			name(""), name("\u2003\u00a0"), name(strings.Repeat("a", 201)), name("\x00a"), name("a\u0085"), name("\xff"), name("\uffff"),
			name("\U0010fffea"), name("\u200b"), name("\ufeff"), name(" \u2060\u3164"), name("\u034f\ufe0f"), name("\U0001bca0\U0001d173\U000e0fff"),
		})
}

func TestUnknownAndRepeatedPetStatusesAreRejected(t *testing.T) {
	t.Parallel()
	const rule = "status " + domain.PetStatusRule
	status := func(s domain.PetStatus) error { return domain.NewPet{Name: "Rex", Status: s}.Validate() }
	checkRule(t, domain.CodeValidationFailed, rule,
		[]error{status(""), status("available"), status("pending"), status("sold")},
		[]error{status("Sold"), status("placed"), status(" ")})
	patch := func(name string, s domain.PetStatus) error {
		return domain.PetPatch{Name: &name, Status: &s}.Validate()
	}
	checkRule(t, domain.CodeValidationFailed, rule, []error{domain.PetPatch{}.Validate(), patch("a", "")}, []error{patch("a", "lost")})
	checkRule(t, domain.CodeValidationFailed, "name "+domain.PetNameRule+"; "+rule, nil, []error{patch("", "lost")})
	query := func(s ...domain.PetStatus) error {
		return domain.PetQuery{PageRequest: domain.PageRequest{Limit: 1}, Statuses: s}.Validate()
	}
	checkRule(t, domain.CodeInvalidParameter, "status "+domain.PetStatusesRule,
		[]error{query(), query(""), query("sold"), query("sold", "", "pending", "available")},
		[]error{query("lost"), query("sold", "lost"), query("sold", "", "sold"), query("", "")})
}

func TestNamesOfOneFormAreFolded(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"T-Rex 2": "t-rex 2", "STRAẞE": "strasse", "Straße": "strasse", "ΣΊΣΥΦΟΣ": "σίσυφοσ", "Iı": "iı", "İ": "i\u0307",
		"E\u0301": "é", "\u212a": "k", "q\u0307\u0323": "q\u0323\u0307", "50% \\_": "50% \\_", "🐶": "🐶",
	} {
		testkit.Equal(t, "the form of "+name, want, domain.FoldName(name))
		if query := (domain.PetQuery{Text: want}); !query.Selects(domain.Pet{Name: "x" + name}) || query.Selects(domain.Pet{Name: "x"}) {
			t.Errorf("%q does not select exactly the names that contain it", want)
		}
	}
}

func TestPetQueryRejectsATextThatIsNoName(t *testing.T) {
	t.Parallel()
	query := func(text string) error {
		return domain.PetQuery{PageRequest: domain.PageRequest{Limit: 1}, Text: text}.Validate()
	}
	checkRule(t, domain.CodeInvalidParameter, "q "+domain.PetNameRule,
		[]error{query(""), query("%"), query(strings.Repeat("ü", 200))}, []error{query(" "), query("a\x00"), query(strings.Repeat("a", 201))})
}

func TestManyNewPetsAreCheckedWithTheirIndexes(t *testing.T) {
	t.Parallel()
	pets := func(n int) error { return domain.ValidateNewPets(slices.Repeat([]domain.NewPet{{Name: "a"}}, n)) }
	checkRule(t, domain.CodeValidationFailed, "the array must have 1 to 100 animals", []error{pets(1), pets(100)}, []error{pets(0), pets(101)})
	const name, status = "name " + domain.PetNameRule, "status " + domain.PetStatusRule
	checkRule(t, domain.CodeValidationFailed, "[1]."+name+"; [3]."+name+"; [3]."+status, nil,
		[]error{domain.ValidateNewPets([]domain.NewPet{{Name: "a"}, {}, {Name: "a"}, {Status: "lost"}})})
	rule := func(pet domain.NewPet) (violations []domain.Violation) {
		if pet.Name[0] != 'R' { // this rule is called only for animals that satisfy the other rules, so the name is not empty
			violations = append(violations, domain.Violation{Field: "name", Rule: "must begin with R"})
		}
		return violations
	}
	checkRule(t, domain.CodeValidationFailed, "[0].name must begin with R; [1]."+name+"; [3].name must begin with R", nil,
		[]error{domain.ValidateNewPets([]domain.NewPet{{Name: "a"}, {}, {Name: "Rex"}, {Name: "b"}}, rule)})
}

func TestPatchChangesTheFieldsThatItHas(t *testing.T) {
	t.Parallel()
	patch := testkit.Filled[domain.PetPatch](t)
	want := domain.Pet{ID: 7, Name: *patch.Name, CategoryID: *patch.CategoryID, Status: *patch.Status}
	testkit.Equal(t, "Apply of all fields", want, patch.Apply(domain.Pet{ID: 7}))
	testkit.WantFilled(t, patch.Apply(domain.Pet{ID: 7}))
	pet := testkit.Filled[domain.NewPet](t).WithID(7)
	testkit.Equal(t, "Apply of no field", pet, domain.PetPatch{}.Apply(pet))
}
