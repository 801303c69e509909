package http

import (
	"testing"

	"example.com/petstore/delivery/internal/binding"
)

// The default in the struct tag and firstPageQuery must have the same limit.
func TestEmptyQueryIsFirstPage(t *testing.T) {
	t.Parallel()
	q, err := binding.Query[listPetsQuery]("")
	if got := q.canonical(q.filters(), q.After); err != nil || got != firstPageQuery {
		t.Errorf("got %s and error %v, want %s", got, err, firstPageQuery)
	}
}
