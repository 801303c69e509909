package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// Each store stands for a process. Only the first store commits changes.
func TestNumbersIncludeEveryAcknowledgedCommit(t *testing.T) {
	t.Parallel()
	stores := openProcesses(t, 3)
	rex := domain.Pet{ID: 1, Name: "Rex"}
	check(t, stores[0].InTx(t.Context(), adding("Rex")))
	statuses := []domain.PetStatus{domain.PetSold, domain.PetPending}
	for i := range 50 {
		before := numbersOf(t, stores...)
		check(t, stores[0].InTx(t.Context(), adding("Rex")))
		added := numbersOf(t, stores...)
		check(t, stores[0].InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			after := rex
			after.Status = statuses[i%2]
			defer func() { rex = after }()
			return r.Pets.Update(ctx, rex, after)
		}))
		altered := numbersOf(t, stores...)
		for n := range stores {
			if added[n].Position != before[n].Position+1 || added[n].Altered != before[n].Altered ||
				altered[n].Position != added[n].Position+1 || altered[n].Altered != altered[n].Position ||
				altered[n].Generation != before[n].Generation {
				t.Fatalf("store %d: got %+v, %+v after an addition and %+v after an alteration", n, before[n], added[n], altered[n])
			}
		}
	}
}

// Each store stands for a process.
func TestRevokedKeyIsInvalidInEveryProcessWithinASecond(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	key, err := apikey.New("till 1", apikey.Generate(), time.UnixMilli(0), 0)
	check(t, err)
	check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Create(ctx, key)
		return err
	}))
	other := open(t, dsn, repository.Options{})
	usable := func(s *repository.Store) bool {
		found, err := s.Keys().FindByHash(t.Context(), key.Hash)
		check(t, err)
		return found.Usable(time.UnixMilli(1))
	}
	if !usable(store) || !usable(other) { // each store remembers the key
		t.Fatal("the new key cannot be used")
	}
	check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Revoke(ctx, 1, time.UnixMilli(1))
		return err
	}))
	revoked := time.Now()
	testkit.WaitUntil(t, "the key cannot be used", func() bool {
		age := time.Since(revoked) // before the look-ups, which may take any time
		used := usable(store) || usable(other)
		if used && age >= time.Second {
			t.Fatalf("the key was used after %s, want less than 1 s", age)
		}
		return !used
	})
}

// numbersOf returns the numbers of each store.
func numbersOf(t *testing.T, stores ...*repository.Store) (all []domain.Numbers) {
	t.Helper()
	for _, store := range stores {
		numbers, err := store.Numbers(t.Context())
		check(t, err)
		all = append(all, numbers)
	}
	return all
}

// After a failover, connections that read may still be to the previous primary server, so they are replaced. If
// commits were lost, other commits may have led to the same numbers, so the generation rises.
func TestNewConnectionReplacesThoseThatRead(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, dsn, repository.Options{Options: engine.Options{MaxOpenConns: 1}})
	observe := func() (numbers domain.Numbers, readers []string) {
		numbers = numbersOf(t, store)[0]
		check(t, store.Ping(t.Context()))
		testkit.WaitUntil(t, "a closed connection has ended", func() bool {
			readers = queryTexts(t, dsn, "SELECT pid::text FROM "+ofStore+` AND query LIKE 'SELECT %FROM "pets"%'`)
			return len(readers) == 1
		})
		return numbers, readers
	}
	before, reader := observe()
	execute(t, dsn, terminate+" AND query = 'SELECT position, altered, min_schema_version FROM store'")
	after, other := observe()
	if after.Generation == before.Generation {
		t.Errorf("got %+v on a new connection, want another generation than %+v", after, before)
	}
	if reader[0] == other[0] {
		t.Errorf("got the connections %v and then %v, want another one", reader, other)
	}
}
