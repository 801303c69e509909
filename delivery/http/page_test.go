package http

import "testing"

// The tag of a field and the name of the first page tell the same limit.
func TestEmptyQueryMeansTheFirstPage(t *testing.T) {
	t.Parallel()
	q, err := bindQuery[listPetsQuery]("")
	if got := q.behind(q.After); err != nil || got != firstPage {
		t.Errorf("got %s and %v, want %s", got, err, firstPage)
	}
}
