package domain

import "fmt"

// The default and maximum number of records of a page (service specification, "Limits").
const (
	DefaultLimit = 20
	maxLimit     = 100
)

// A PageRequest selects up to Limit records with an id greater than After, ascending by
// id. Ids start at 1, so After is 0 for the first page.
type PageRequest struct {
	After int64
	Limit int
}

// Validate returns an ErrInvalid (invalid_parameter) that lists every violation.
func (r PageRequest) Validate() error { return Invalid(CodeInvalidParameter, r.violations()...) }

// violations returns the violation of a limit outside 1 to maxLimit.
func (r PageRequest) violations() []Violation {
	if r.Limit < 1 || r.Limit > maxLimit {
		return []Violation{{Field: "limit", Rule: fmt.Sprintf("must be 1 to %d", maxLimit)}}
	}
	return nil
}

// A Page is a part of a list. More reports whether more records follow it.
type Page[T any] struct {
	Items []T
	More  bool
}
