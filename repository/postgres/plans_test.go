package postgres_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
)

// A plan that reads a table completely would be reused when the table has grown.
func TestIdempotencyKeysAreFoundByTheirIndexes(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	const scans = "SELECT seq_scan::text FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'"
	check(t, open(t, dsn, repository.Options{Migrate: true}).Close())
	before := queryTexts(t, dsn, scans)
	store := open(t, dsn, repository.Options{})
	for i := range 20 {
		_, _, err := newPets(store).Create(t.Context(), domain.NewPet{Name: "Rex"}, domain.IdempotencyKey{Caller: "1", Value: fmt.Sprint("key", i)})
		check(t, err)
	}
	inOneBatch(t, store, creating(t, store, 20)...)
	check(t, store.Close())
	if diff := cmp.Diff(before, queryTexts(t, dsn, scans)); diff != "" {
		t.Errorf("how often the table was read completely (-before +after)\n%s", diff)
	}
}
