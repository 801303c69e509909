package postgres_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// PostgreSQL has no statistics about a table that has grown since they were made. A plan that reads the whole table is then
// used until they are made again.
func TestClaimsAreFoundByTheirKeys(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	const others, read = 5000, "SELECT (coalesce(idx_tup_fetch, 0) + seq_tup_read)::text FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'"
	execute(t, dsn, fmt.Sprintf(`INSERT INTO idempotency_keys (caller, value, fingerprint, result, claimed_at)
		SELECT '2', 'key' || n, sha256('1'), '[]', extract(epoch FROM now()) * 1000 FROM generate_series(1, %d) AS n`, others))
	pets := usecase.NewPets(store, store.Pets())
	for range 5 {
		var clients sync.WaitGroup
		for client := range 64 {
			clients.Go(func() {
				for _, again := range []bool{false, true} {
					key := domain.IdempotencyKey{Caller: "1", Value: fmt.Sprint("key", client)}
					if _, replayed, err := pets.Create(t.Context(), domain.NewPet{Name: "Rex"}, key); err != nil || again && !replayed {
						t.Errorf("got replayed %t and %v", replayed, err)
					}
				}
			})
		}
		clients.Wait()
	}
	check(t, store.Close()) // sends the statistics
	rows, err := strconv.Atoi(queryTexts(t, dsn, read)[0])
	if err != nil || rows > others {
		t.Errorf("%d claims were read for 640 requests, %v", rows, err)
	}
	wantPets(t, open(t, dsn, repository.Options{}), 64)
}
