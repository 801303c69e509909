package repository

import (
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
)

// Begin may have to begin again after it has read rows. Meanwhile, another process may change them.
func TestRowsReadAheadAreUsedOnceTheTransactionHasBegun(t *testing.T) {
	t.Parallel()
	claim := port.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: "k"}}
	a := newAhead()
	queries, done := a.queries([]port.Reads{{Claim: claim, Pets: []int64{1}, Orders: []int64{2}}})
	for _, q := range queries {
		_ = q.Row() // the error of an order without a status
	}
	testkit.Equal(t, "the records before", 0, len(a.claims)+len(a.pets)+len(a.orders)+len(a.ordered))
	done()
	testkit.Equal(t, "the claims, of the key and of an empty row", 2, len(a.claims))
	testkit.Equal(t, "the records", 3, len(a.pets)+len(a.orders)+len(a.ordered))
}
