package domain

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A PetStatus is the status of an animal. It is empty for an animal without a status.
type PetStatus string // @name PetStatus

// The published statuses.
const (
	PetAvailable PetStatus = "available"
	PetPending   PetStatus = "pending"
	PetSold      PetStatus = "sold"
)

// PetStatuses returns the published statuses. The empty status is not one of them.
func PetStatuses() []PetStatus { return []PetStatus{PetAvailable, PetPending, PetSold} }

// Known reports whether s is one of PetStatuses.
func (s PetStatus) Known() bool { return slices.Contains(PetStatuses(), s) }

func (s PetStatus) knownOrNone() bool { return s == "" || s.Known() }

// The times of the operation getPet, GET /pets/{petId}.
var (
	// GetPetSunset is when getPet is removed, as docs/openapi.json says.
	GetPetSunset = time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)
	// GetPetDeprecation is when getPet was deprecated.
	GetPetDeprecation = GetPetSunset.AddDate(-5, 0, 0)
)

// maxPetName is the maximum length of a name in characters (code points).
const maxPetName = 200

// The rules for the fields of an animal, for error messages.
const (
	PetNameRule   = "must be 1 to 200 characters, not blank, without control characters or noncharacters such as U+FFFF"
	PetStatusRule = "must be available, pending or sold"
)

// PetStatusesRule is the rule for PetQuery.Statuses, for error messages.
const PetStatusesRule = "must be one or more of available, pending, sold and none, each once"

// A NewPet is an animal to be added. Name is stored exactly as given, CategoryID may be any number, Status may be empty.
// The fingerprint of an idempotency key is computed from its JSON, which must therefore not change.
type NewPet struct {
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status,omitempty"`
}

// A Pet is an animal of the catalogue. The store assigns ID, from 1 on, and never assigns the same ID again. The store
// keeps its JSON, which is the JSON of the API, as the result of an idempotency key.
type Pet struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status,omitempty"`
}

// WithID returns the animal with an id.
func (n NewPet) WithID(id int64) Pet {
	return Pet{ID: id, Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}
}

// New returns the animal without its id.
func (p Pet) New() NewPet { return NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status} }

// ValidPetName reports whether name satisfies PetNameRule.
func ValidPetName(name string) bool { return ValidName(name, maxPetName) }

// ValidName reports whether name is valid UTF-8 and has at most maxLen characters, of which at least one is not blank
// and none is a control character (Unicode class Cc) or a noncharacter.
func ValidName(name string, maxLen int) bool {
	return utf8.ValidString(name) &&
		utf8.RuneCountInString(name) <= maxLen &&
		strings.TrimLeftFunc(name, isBlank) != "" &&
		strings.IndexFunc(name, unicode.IsControl) < 0 &&
		strings.IndexFunc(name, IsNoncharacter) < 0
}

// FoldName returns a name in the form in which searches compare names: in NFC, then after Unicode case folding. So neither the
// case matters, except that of Cherokee letters, nor whether an accent is a character of its own. The store keeps this form of
// each name.
func FoldName(name string) string { return cases.Fold().String(norm.NFC.String(name)) }

// isBlank reports whether r is white space or invisible, such as U+200B. Invisible characters have the Unicode property
// Default_Ignorable_Code_Point, which is computed here as DerivedCoreProperties.txt of Unicode defines it.
func isBlank(r rune) bool {
	annotation, hieroglyph := 0xfff9 <= r && r <= 0xfffb, 0x13430 <= r && r <= 0x13440 // visible format characters
	return unicode.IsSpace(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
			!unicode.Is(unicode.Prepended_Concatenation_Mark, r) && !annotation && !hieroglyph
}

// IsNoncharacter reports whether r is one of the code points that Unicode reserves for
// internal use, which I-JSON excludes (RFC 7493, section 2.1).
func IsNoncharacter(r rune) bool { return unicode.Is(unicode.Noncharacter_Code_Point, r) }

// A PetRule checks a rule of a host, and returns the violations. It is called only for an animal that satisfies the rules
// of this package.
type PetRule func(NewPet) []Violation

// Validate returns an ErrInvalid (validation_failed) that lists every violation. It checks the rules of a host only
// if the animal satisfies the rules of this package.
func (p NewPet) Validate(rules ...PetRule) error {
	return Invalid(CodeValidationFailed, p.violations("", rules)...)
}

// violations returns the violations, with prefix before the name of each field.
func (p NewPet) violations(prefix string, rules []PetRule) (violations []Violation) {
	if !ValidPetName(p.Name) {
		violations = append(violations, Violation{Field: "name", Rule: PetNameRule})
	}
	if !p.Status.knownOrNone() {
		violations = append(violations, Violation{Field: "status", Rule: PetStatusRule})
	}
	if len(violations) == 0 {
		for _, rule := range rules {
			violations = append(violations, rule(p)...)
		}
	}
	for i := range violations {
		violations[i].Field = prefix + violations[i].Field
	}
	return violations
}

// ValidateBatch returns an ErrInvalid (validation_failed) unless pets, the number of animals in a request, is 1 to
// MaxLimit.
func ValidateBatch(pets int) error {
	if pets < 1 || pets > MaxLimit {
		return Invalid(CodeValidationFailed, Violation{Field: "the array", Rule: fmt.Sprintf("must have 1 to %d animals", MaxLimit)})
	}
	return nil
}

// ValidateNewPets checks the number of animals as ValidateBatch does, and each animal as NewPet.Validate does. It returns
// one ErrInvalid (validation_failed) that lists every violation. The name of the fourth animal is the field "[3].name".
func ValidateNewPets(pets []NewPet, rules ...PetRule) error {
	if err := ValidateBatch(len(pets)); err != nil {
		return err
	}
	var violations []Violation
	for i, pet := range pets {
		violations = append(violations, pet.violations(fmt.Sprintf("[%d].", i), rules)...)
	}
	return Invalid(CodeValidationFailed, violations...)
}

// A PetPatch is a correction of an animal. A nil field leaves the field of the animal unchanged. A Status that points to
// the empty status removes the status.
type PetPatch struct {
	Name       *string
	CategoryID *int64
	Status     *PetStatus
}

// Apply returns the corrected animal.
func (p PetPatch) Apply(pet Pet) Pet {
	if p.Name != nil {
		pet.Name = *p.Name
	}
	if p.CategoryID != nil {
		pet.CategoryID = *p.CategoryID
	}
	if p.Status != nil {
		pet.Status = *p.Status
	}
	return pet
}

// Validate returns an ErrInvalid (validation_failed) that lists every violation of the fields that are set.
func (p PetPatch) Validate() error { return p.Apply(Pet{Name: "valid"}).New().Validate() }

// An Inventory has the number of animals for each status. None is the number of animals without a status. The counts
// include exactly the changes up to Position.
type Inventory struct{ Available, Pending, Sold, None, Position int64 }

// Total returns the number of all animals.
func (i Inventory) Total() int64 { return i.Available + i.Pending + i.Sold + i.None }

// A PetQuery selects a page of the animals. If Statuses is not empty, an animal must have one of them; the empty status
// selects animals without a status. If CategoryID is not nil, the animal must be of this category. If Text is not empty,
// the name must contain it, whatever the case (FoldName). The store then reads a limited number of animals: a page may have
// More although it has fewer than Limit animals. If IDs is not nil, an animal must have one of these ids: then the page has
// all selected animals, whatever After and Limit are.
type PetQuery struct {
	PageRequest
	IDs        []int64
	Statuses   []PetStatus
	CategoryID *int64
	Text       string
}

// Validate returns an ErrInvalid (invalid_parameter) that lists every violation.
func (q PetQuery) Validate() error {
	violations := q.violationsOf(q.IDs)
	if !areDistinct(q.Statuses, PetStatus.knownOrNone) {
		violations = append(violations, Violation{Field: "status", Rule: PetStatusesRule})
	}
	if q.Text != "" && !ValidPetName(q.Text) {
		violations = append(violations, Violation{Field: "q", Rule: PetNameRule})
	}
	return Invalid(CodeInvalidParameter, violations...)
}

// Selects reports whether the filters Statuses, CategoryID and Text select an animal. It ignores IDs.
func (q PetQuery) Selects(pet Pet) bool {
	return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, pet.Status)) && (q.CategoryID == nil || *q.CategoryID == pet.CategoryID) &&
		(q.Text == "" || strings.Contains(FoldName(pet.Name), FoldName(q.Text)))
}

// PetChanged returns the ErrPrecondition for an animal that is not as the caller expects.
func PetChanged(id int64) error {
	return &Error{
		Kind: ErrPrecondition, Code: CodePreconditionFailed,
		Message: fmt.Sprintf("the pet with the id %[1]d does not have this ETag: it has changed. GET /pets?id=%[1]d returns its ETag", id),
	}
}

// PetNotFound returns the ErrNotFound for an animal that is not in the catalogue.
func PetNotFound(id int64) error {
	return &Error{Kind: ErrNotFound, Code: CodePetNotFound, Message: fmt.Sprintf("there is no pet with the id %d", id)}
}
