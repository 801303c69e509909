package binding

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/domain"
)

// Query decodes the query of a URL into a T and validates the tags of T. Each parameter may occur once, unless it is a
// list. Neither a parameter nor an element of a list may be empty. A missing parameter has the value in the tag default.
// Unknown parameters are violations. The error is an ErrInvalid (invalid_parameter).
func Query[T any](raw string) (query T, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query, &domain.Error{
			Kind: domain.ErrInvalid, Code: domain.CodeInvalidParameter,
			Message: "the query string is malformed", Cause: err,
		}
	}
	var violations []domain.Violation
	target := reflect.ValueOf(&query).Elem()
	fields := fieldsOf(target.Type(), "form")
	for _, field := range fields {
		parameter, ok := values[field.name]
		delete(values, field.name)
		if !ok && field.defaultText != "" {
			parameter, ok = []string{field.defaultText}, true
		}
		if !ok {
			continue
		}
		if rule := decodeParameter(parameter, target.FieldByIndex(field.index)); rule != "" {
			violations = append(violations, domain.Violation{Field: field.name, Rule: rule})
		}
	}
	violations = append(violations, unknownParameters(values, fields)...)
	return query, Validate(&query, domain.CodeInvalidParameter, violations)
}

// unknownParameters returns the violations for at most 10 unknown parameters. It does not name a long parameter,
// which may be a secret.
func unknownParameters(unknown url.Values, known []field) (violations []domain.Violation) {
	names := slices.Sorted(maps.Keys(unknown))
	for _, name := range names[:min(len(names), 10)] {
		violation := domain.Violation{Field: "the query", Rule: "has a parameter that this operation does not have"}
		if len(name) < 40 {
			violation = domain.Violation{Field: strconv.Quote(name), Rule: "is not a parameter of this operation"}
		}
		for _, f := range known {
			if IsNearly(name, f.name) {
				violation.Rule += ": did you mean " + f.name + "?"
			}
		}
		violations = append(violations, violation)
	}
	return violations
}

// decodeParameter decodes the values of a parameter into a field. The field is a string, an int64, a pointer to an
// int64, or a slice of one of these; the elements of a slice are separated by commas, or are several values.
// decodeParameter returns the rule that the values violate, or "".
func decodeParameter(values []string, field reflect.Value) (rule string) {
	switch {
	case field.Kind() == reflect.Slice:
	case len(values) > 1:
		return "must be given once"
	default:
		return decodeText(values[0], field)
	}
	for text := range strings.SplitSeq(strings.Join(values, ","), ",") {
		element := reflect.New(field.Type().Elem()).Elem()
		if rule := decodeText(text, element); rule != "" {
			return rule
		}
		field.Set(reflect.Append(field, element))
	}
	return ""
}

// decodeText decodes a text into a field, which is a string, an int64 or a pointer to an int64. It returns the rule
// that the text violates, or "".
func decodeText(text string, field reflect.Value) (rule string) {
	if text == "" {
		return "must not be empty"
	}
	if field.Kind() == reflect.String {
		field.SetString(text)
		return ""
	}
	number, ok := ParseInt64(text)
	switch {
	case !ok:
		return IntegerRule
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.ValueOf(&number))
	default:
		field.SetInt(number)
	}
	return ""
}

// IntegerRule is the rule for integers, for error messages.
const IntegerRule = "must be a 64-bit integer in digits, after a minus sign if it is below 0"

// ParseInt64 parses a text that satisfies IntegerRule.
func ParseInt64(s string) (int64, bool) {
	number, err := strconv.ParseInt(s, 10, 64)
	return number, err == nil && s[0] != '+' && (s[0] != '-' || number < 0)
}
