package domain

import (
	"fmt"
	"slices"
)

// The default and maximum number of records of a page (service specification, "Limits"). MaxLimit is also that of
// the animals that one request adds, or names by their ids.
const (
	DefaultLimit = 20
	MaxLimit     = 100
)

// A PageRequest selects up to Limit records with an id greater than After, ascending by
// id. Ids start at 1, so After is 0 for the first page. If Newest is true, it selects those with an id
// less than After, or any if After is 0, descending by id.
type PageRequest struct {
	After  int64
	Limit  int
	Newest bool
}

// Validate returns an ErrInvalid (invalid_parameter) that lists every violation.
func (r PageRequest) Validate() error { return Invalid(CodeInvalidParameter, r.violations()...) }

// violations returns the violation of a limit outside 1 to MaxLimit.
func (r PageRequest) violations() []Violation {
	if r.Limit < 1 || r.Limit > MaxLimit {
		return []Violation{{Field: "limit", Rule: fmt.Sprintf("must be 1 to %d", MaxLimit)}}
	}
	return nil
}

// areDistinct reports whether valid is true for each of values, and no two of them are equal.
func areDistinct[T comparable](values []T, valid func(T) bool) bool {
	for i, value := range values {
		if !valid(value) || slices.Contains(values[:i], value) {
			return false
		}
	}
	return true
}

// A Page is a part of a list. More reports whether more records follow it.
type Page[T any] struct {
	Items []T
	More  bool
}
