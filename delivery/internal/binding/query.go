package binding

import (
	"net/url"
	"reflect"
	"strconv"

	"example.com/petstore/domain"
)

// Query decodes a query into T and validates the tags of T. Each parameter of T may
// occur once and must not be empty. The tag default has the value of a missing one. Other
// parameters are ignored. The error is an ErrInvalid (invalid_parameter).
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
	for _, field := range fieldsOf(target.Type(), "form") {
		parameter, ok := values[field.name]
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
	return query, Validate(&query, domain.CodeInvalidParameter, violations)
}

// decodeParameter decodes the values of a parameter into a field, which is a string, an
// int64 or a pointer to one. It returns the rule that they break, or "".
func decodeParameter(values []string, field reflect.Value) (rule string) {
	if len(values) > 1 {
		return "must be given once"
	}
	if values[0] == "" {
		return "must not be empty"
	}
	if field.Kind() == reflect.String {
		field.SetString(values[0])
		return ""
	}
	number, ok := ParseInt64(values[0])
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

// IntegerRule is the rule of int64 values.
const IntegerRule = "must be a 64-bit integer in digits, after a minus sign if it is below 0"

// ParseInt64 parses a text that satisfies IntegerRule.
func ParseInt64(s string) (int64, bool) {
	number, err := strconv.ParseInt(s, 10, 64)
	return number, err == nil && s[0] != '+' && (s[0] != '-' || number < 0)
}
