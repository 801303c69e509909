// Package binding decodes JSON objects and query strings into structs, and validates them. Struct tags have the names and
// the rules.
package binding

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
	"github.com/go-playground/validator/v10"

	"example.com/petstore/domain"
)

// structValidator validates the structs of requests by their tags. tagRules has the rule of each tag for error messages.
// Names and statuses have the rules of package domain.
var (
	structValidator = newValidator()
	tagRules        = map[string]string{
		"required":    "is required",
		"petname":     domain.PetNameRule,
		"petstatus":   domain.PetStatusRule,
		"petfilter":   "must be available, pending, sold or none",
		"orderstatus": domain.OrderStatusRule,
	}
)

// NoStatus is the element of a list of statuses that selects animals without a status.
const NoStatus = "none"

func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		return cmp.Or(tagName(f, "json"), tagName(f, "form"))
	})
	for tag, valid := range map[string]func(string) bool{
		"petname":     domain.ValidPetName,
		"petstatus":   func(s string) bool { return domain.PetStatus(s).Known() },
		"petfilter":   func(s string) bool { return s == NoStatus || domain.PetStatus(s).Known() },
		"orderstatus": func(s string) bool { return domain.OrderStatus(s).Known() },
	} {
		check := func(f validator.FieldLevel) bool { return valid(f.Field().String()) }
		_ = v.RegisterValidation(tag, check) // returns an error only for an empty tag
	}
	return v
}

// Validate validates target by its struct tags. violations are the violations that were found while decoding. Validate
// returns an ErrInvalid that lists them and the violations of all other fields, or nil if there are none.
func Validate(target any, code domain.Code, violations []domain.Violation) error {
	return domain.Invalid(code, violationsOf(target, violations)...)
}

// violationsOf returns the violations that were found while decoding, and the violations of the tags of all other fields.
func violationsOf(target any, violations []domain.Violation) []domain.Violation {
	invalid, _ := errors.AsType[validator.ValidationErrors](structValidator.Struct(target)) // another error means that target is no struct
	for _, f := range invalid {
		name, _, _ := strings.Cut(f.Field(), "[") // an element of a list is name[index]
		if !reported(violations, name) {
			violations = append(violations, domain.Violation{Field: name, Rule: ruleOf(f)})
		}
	}
	return violations
}

// reported reports whether violations has a violation of a field.
func reported(violations []domain.Violation, field string) bool {
	return slices.ContainsFunc(violations, func(v domain.Violation) bool { return v.Field == field })
}

// ruleOf returns the rule that a field violates, for error messages.
func ruleOf(invalid validator.FieldError) string {
	switch invalid.Tag() {
	case "min":
		return "must be at least " + invalid.Param()
	case "max":
		if invalid.Kind() == reflect.Slice {
			return "must have at most " + invalid.Param() + " values"
		}
		return "must be at most " + invalid.Param()
	case "oneof":
		return "must be " + strings.ReplaceAll(invalid.Param(), " ", " or ")
	case "unique":
		return "must have each value once"
	default:
		return tagRules[invalid.Tag()]
	}
}

// A field is a struct field into which a member of a JSON object or a parameter of a query is decoded.
type field struct {
	name        string // the name of the member or parameter
	defaultText string // the value of the tag default
	index       []int
}

// IsNearly reports whether a name is a known one in another letter case, or mistyped: one character is wrong, missing or
// added, in a known name of 6 characters or more also two, or two characters are exchanged. More would be found in a short
// name by chance: an animal may have an age, which is not its name. A name of one character is never mistyped.
func IsNearly(name, known string) bool {
	name, known = strings.ToLower(name), strings.ToLower(known)
	sorted := func(s string) []rune { return slices.Sorted(slices.Values([]rune(s))) }
	distance := levenshtein.ComputeDistance(name, known)
	return distance < min(2+len(known)/6, len(known)) || distance == 2 && slices.Equal(sorted(name), sorted(known))
}

// fieldCache has the results of fieldsOf by type and tag, because reflection is slow.
var fieldCache sync.Map

// fieldsOf returns the fields of a struct that have the tag, including embedded ones.
func fieldsOf(t reflect.Type, tag string) []field {
	type cacheKey struct {
		reflect.Type
		tag string
	}
	if cached, ok := fieldCache.Load(cacheKey{t, tag}); ok {
		return cached.([]field)
	}
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if name := tagName(f, tag); name != "" {
			fields = append(fields, field{name: name, defaultText: f.Tag.Get("default"), index: f.Index})
		}
	}
	fieldCache.Store(cacheKey{t, tag}, fields)
	return fields
}

// tagName returns the name in a tag, without the options after the comma.
func tagName(f reflect.StructField, tag string) string {
	name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
	return name
}
