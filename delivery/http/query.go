package http

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"example.com/petstore/domain"
)

// bindQuery reads a query into a struct and validates its tags. A parameter of the
// struct comes at most once and not empty; the tag default stands for one that is
// left out; any other is ignored.
func bindQuery[T any](raw string) (query T, err error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query, &domain.Error{
			Kind: domain.ErrInvalid, Code: domain.CodeInvalidParameter,
			Message: "the query string is malformed", Cause: err,
		}
	}
	var broken []domain.Violation
	target := reflect.ValueOf(&query).Elem()
	for _, field := range fieldsOf(target.Type(), "form") {
		given, ok := values[field.name]
		if !ok && field.fallback != "" {
			given, ok = []string{field.fallback}, true
		}
		if !ok {
			continue
		}
		if rule := decodeParameter(given, target.FieldByIndex(field.index)); rule != "" {
			broken = append(broken, domain.Violation{Field: field.name, Rule: rule})
		}
	}
	return query, validate(&query, domain.CodeInvalidParameter, broken)
}

// decodeParameter decodes what a query gives for one parameter into a field, or
// tells the rule that it breaks.
func decodeParameter(given []string, into reflect.Value) (rule string) {
	if len(given) > 1 {
		return "must be given once"
	}
	if given[0] == "" {
		return "must not be empty"
	}
	if into.Kind() == reflect.String {
		into.SetString(given[0])
		return ""
	}
	number, ok := parseInt64(given[0])
	switch {
	case !ok:
		return integerRule
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.ValueOf(&number))
	default:
		into.SetInt(number)
	}
	return ""
}

// parseInt64 reads plain decimal digits, with a minus where the number is negative.
func parseInt64(s string) (int64, bool) {
	if strings.HasPrefix(s, "+") {
		return 0, false
	}
	number, err := strconv.ParseInt(s, 10, 64)
	return number, err == nil
}
