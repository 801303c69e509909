package http

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"

	"example.com/petstore/domain"
)

// tags checks the struct tags of requests; rules says in words what each wants.
// The rules of a record are the domain's own, under a name.
var (
	tags  = newValidator()
	rules = map[string]string{
		"required":    "is required",
		"petname":     domain.PetNameRule,
		"petstatus":   domain.PetStatusRule,
		"orderstatus": domain.OrderStatusRule,
	}
)

func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		return cmp.Or(nameOf(f, "json"), nameOf(f, "form"))
	})
	for tag, holds := range map[string]func(string) bool{
		"petname":     domain.ValidPetName,
		"petstatus":   func(s string) bool { return domain.PetStatus(s).Known() },
		"orderstatus": func(s string) bool { return domain.OrderStatus(s).Known() },
	} {
		check := func(f validator.FieldLevel) bool { return holds(f.Field().String()) }
		_ = v.RegisterValidation(tag, check) // fails for an empty tag alone
	}
	return v
}

// validate returns an ErrInvalid that tells the violations found so far and, of
// the other fields, those of the struct's tags.
func validate(target any, code domain.Code, broken []domain.Violation) error {
	var faults validator.ValidationErrors
	if err := tags.Struct(target); err != nil && !errors.As(err, &faults) {
		return err
	}
	told := func(name string) bool {
		return slices.ContainsFunc(broken, func(v domain.Violation) bool { return v.Field == name })
	}
	for _, fault := range faults {
		if !told(fault.Field()) {
			broken = append(broken, domain.Violation{Field: fault.Field(), Rule: ruleOf(fault)})
		}
	}
	return domain.Invalid(code, broken...)
}

func ruleOf(fault validator.FieldError) string {
	switch fault.Tag() {
	case "min":
		return "must be at least " + fault.Param()
	case "max":
		return "must be at most " + fault.Param()
	default:
		return rules[fault.Tag()]
	}
}

// A field is a member or parameter as a struct declares it.
type field struct {
	name     string
	fallback string
	index    []int
}

// declared keeps the fields of a struct by its type and tag: to find them takes as
// long as all the rest of binding.
var declared sync.Map

// fieldsOf are the fields of a struct that carry the tag, embedded ones included.
func fieldsOf(t reflect.Type, tag string) []field {
	type declaration struct {
		reflect.Type
		tag string
	}
	if found, ok := declared.Load(declaration{t, tag}); ok {
		return found.([]field)
	}
	var found []field
	for _, f := range reflect.VisibleFields(t) {
		if name := nameOf(f, tag); name != "" {
			found = append(found, field{name: name, fallback: f.Tag.Get("default"), index: f.Index})
		}
	}
	declared.Store(declaration{t, tag}, found)
	return found
}

func nameOf(f reflect.StructField, tag string) string {
	name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
	return name
}
