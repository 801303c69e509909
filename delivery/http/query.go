package http

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/maypok86/otter/v2"

	"example.com/petstore/domain"
)

// A listQuery is what the query of a list says. Its key is a normal form: equal
// for queries that mean the same.
type listQuery interface{ key() string }

// A boundQuery is a query with its key.
type boundQuery[Q listQuery] struct {
	values Q
	key    string
}

// A queryBinder reads the queries of one operation into a struct. It keeps what
// the last short ones meant, because the same few are sent again and again.
type queryBinder[Q listQuery] struct {
	known *otter.Cache[string, boundQuery[Q]]
}

const (
	maxKnownQueries = 8192
	maxKnownQuery   = 64 // bytes, so that no client can fill the memory
)

func newQueryBinder[Q listQuery]() queryBinder[Q] {
	return queryBinder[Q]{otter.Must(&otter.Options[string, boundQuery[Q]]{
		MaximumSize: maxKnownQueries,
		Executor:    func(task func()) { task() }, // no goroutine that outlives a request
	})}
}

// bind returns what the request's query says.
func (b queryBinder[Q]) bind(c *gin.Context) (boundQuery[Q], error) {
	raw := c.Request.URL.RawQuery
	if query, ok := b.known.GetIfPresent(raw); ok {
		return query, nil
	}
	if len(raw) <= maxKnownQuery {
		raw = strings.Clone(raw) // the request's own is a part of its whole first line
	}
	values, err := bindQuery[Q](raw)
	if err != nil {
		return boundQuery[Q]{}, err
	}
	query := boundQuery[Q]{values, values.key()}
	if len(raw) <= maxKnownQuery {
		b.known.Set(raw, query)
	}
	return query, nil
}

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
	for field, value := range fields(&query, "form") {
		given, ok := values[field.name]
		if !ok && field.fallback != "" {
			given, ok = []string{field.fallback}, true
		}
		if !ok {
			continue
		}
		if rule := decodeParameter(given, value); rule != "" {
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
