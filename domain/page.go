package domain

import "fmt"

// The number of records on a page, as published (service specification, "Limits").
const (
	DefaultLimit = 20
	MaxLimit     = 100
)

// A PageRequest asks for up to Limit records with an id greater than After,
// ascending by id. Ids start at 1, so the zero After is the first page.
type PageRequest struct {
	After int64
	Limit int
}

// violations tells a limit outside 1 to MaxLimit.
func (r PageRequest) violations() []Violation {
	if r.Limit < 1 || r.Limit > MaxLimit {
		return []Violation{{Field: "limit", Rule: fmt.Sprintf("must be 1 to %d", MaxLimit)}}
	}
	return nil
}

// A Page is a stretch of a list. More says whether records follow behind it.
type Page[T any] struct {
	Items []T
	More  bool
}

// CutPage makes a page of at most limit records from a read that asked for one
// record more than that, which is how a reader knows whether more follow.
func CutPage[T any](items []T, limit int) Page[T] {
	if len(items) > limit {
		return Page[T]{Items: items[:limit], More: true}
	}
	return Page[T]{Items: items}
}
