package domain

import (
	"fmt"
	"slices"
)

// The default and maximum number of records in a page (docs/contract.yaml). MaxLimit is also the maximum
// number of animals that one request may add or may name by id.
const (
	DefaultLimit = 20
	MaxLimit     = 100
)

// IDsRule is the rule for the filter IDs of a query, for error messages.
const IDsRule = "must be 1 to 100 ids of 1 or more, each once"

// A PageRequest selects up to Limit records in the order of their ids, which start at 1. By default the order is
// ascending, and the page begins with the first id above After. If Newest is true, the order is descending, and the page
// begins with the first id below After. With After 0 it is the first page in either order.
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

// violationsOf returns the violation of ids that select the records of a page. If ids is nil, it returns the violation of the
// limit.
func (r PageRequest) violationsOf(ids []int64) []Violation {
	switch {
	case ids == nil:
		return r.violations()
	case len(ids) < 1 || len(ids) > MaxLimit || !areDistinct(ids, func(id int64) bool { return id >= 1 }):
		return []Violation{{Field: "id", Rule: IDsRule}}
	}
	return nil
}

// areDistinct reports whether valid returns true for each value, and no two values are equal.
func areDistinct[T comparable](values []T, valid func(T) bool) bool {
	for i, value := range values {
		if !valid(value) || slices.Contains(values[:i], value) {
			return false
		}
	}
	return true
}

// A Page is a part of a list. More reports whether more records may follow it. Then the next page begins after Next. If Position
// is not 0, the page has all changes up to this position.
type Page[T any] struct {
	Items    []T
	More     bool
	Next     int64
	Position int64
}
