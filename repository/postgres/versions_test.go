package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
)

// Each store stands for a process. Only the first store commits changes.
func TestCachesKnowOfEveryAcknowledgedCommit(t *testing.T) {
	t.Parallel()
	stores := openProcesses(t, 3)
	check(t, stores[0].InTx(t.Context(), adding("Rex")))
	statuses := []domain.PetStatus{domain.PetSold, domain.PetPending}
	for i := range 50 {
		before := versionsOf(t, stores...)
		check(t, stores[0].InTx(t.Context(), adding("Rex")))
		var inserted [][2]uint64
		// When a transaction begins, it reads the row of versions, but the caches do not use what it has read.
		// Versions must return the new numbers also while the transaction runs.
		for _, store := range stores {
			check(t, store.InTx(t.Context(), func(context.Context, port.Repositories) error {
				inserted = append(inserted, versionsOf(t, store)...)
				return nil
			}))
		}
		check(t, stores[0].InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			_, err := r.Pets.ChangeStatusIf(ctx, 1, append(statuses, ""), statuses[i%2])
			return err
		}))
		updated := versionsOf(t, stores...)
		for n := range stores {
			if inserted[n][0] == before[n][0] || inserted[n][1] != before[n][1] || updated[n][0] != inserted[n][0] ||
				updated[n][1] == inserted[n][1] {
				t.Fatalf("store %d: got %v, %v after an insert and %v after an update, want one number increased by each",
					n, before[n], inserted[n], updated[n])
			}
		}
	}
}

// Each store stands for a process. A list may be 5 s old, but a key only 1 s. The limit of 3 s is between the two.
func TestRevokedKeyIsInvalidInOtherProcessesWhateverMaxStaleness(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	key, err := apikey.New("till 1", apikey.Generate(), time.UnixMilli(0), 0)
	check(t, err)
	check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Create(ctx, key)
		return err
	}))
	other := open(t, dsn, repository.Options{MaxStaleness: 5 * time.Second})
	usable := func(s *repository.Store) bool {
		found, err := s.Keys().FindByHash(t.Context(), key.Hash)
		check(t, err)
		return found.Usable(time.UnixMilli(1))
	}
	if !usable(store) || !usable(other) { // each store caches the key
		t.Fatal("the new key cannot be used")
	}
	check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Revoke(ctx, 1, time.UnixMilli(1))
		return err
	}))
	revoked := time.Now()
	testkit.Equal(t, "whether the key can be used in the process that revoked it", false, usable(store))
	testkit.WaitUntil(t, "the key cannot be used in the other process", func() bool { return !usable(other) })
	if took := time.Since(revoked); took > 3*time.Second {
		t.Errorf("the other process used the key for %s, want about 1 s", took)
	}
}

// versionsOf returns the numbers added and changed of each store.
func versionsOf(t *testing.T, stores ...*repository.Store) (all [][2]uint64) {
	t.Helper()
	for _, store := range stores {
		added, changed, err := store.Versions(t.Context())
		check(t, err)
		all = append(all, [2]uint64{added, changed})
	}
	return all
}

// After a failover, connections that read may still be to the previous primary server, so they are replaced. If
// commits were lost, other commits may have led to the same versions, so all cache entries become stale.
func TestNewConnectionReplacesThoseThatRead(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, dsn, repository.Options{Options: engine.Options{MaxOpenConns: 1}})
	observe := func() (versions [2]uint64, readers []string) {
		versions = versionsOf(t, store)[0]
		check(t, store.Ping(t.Context()))
		return versions, queryTexts(t, dsn, "SELECT pid::text FROM "+ofStore+` AND query LIKE 'SELECT %FROM "pets"%'`)
	}
	before, reader := observe()
	execute(t, dsn, terminate+" AND query = 'SELECT added, changed, keys FROM versions'")
	after, other := observe()
	if after[0] == before[0] || after[1] == before[1] {
		t.Errorf("got %v on a new connection, want greater numbers than %v", after, before)
	}
	if len(reader) != 1 || len(other) != 1 || reader[0] == other[0] {
		t.Errorf("got the connections %v and then %v, want another one", reader, other)
	}
}
