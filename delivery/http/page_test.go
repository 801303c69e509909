package http

import "testing"

// The tag of a field and the name of the first page tell the same limit.
func TestEmptyQueryMeansTheFirstPage(t *testing.T) {
	t.Parallel()
	q, err := bindQuery[listPetsQuery]("")
	if got := q.canonical(q.filters(), q.After); err != nil || got != firstPageQuery {
		t.Errorf("got %s and %v, want %s", got, err, firstPageQuery)
	}
}
