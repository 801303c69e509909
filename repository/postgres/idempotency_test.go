package postgres_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// create creates an animal with an idempotency key, or without a key if it is empty. It reports whether there was no earlier
// claim.
func create(ctx context.Context, s *repository.Store, key string) (created bool, err error) {
	claim := port.Claim{}
	if key != "" {
		claim.IdempotencyKey = domain.IdempotencyKey{Caller: "1", Value: key}
	}
	_, earlier, err := storetest.CreatePets(ctx, s, []domain.NewPet{{Name: "Rex"}}, claim)
	return earlier == nil, err
}

// wantCreated creates an animal with a key and compares with want whether it was created.
func wantCreated(t *testing.T, s *repository.Store, key string, want bool) {
	t.Helper()
	created, err := create(t.Context(), s, key)
	testkit.Equal(t, "whether an animal was created with the key "+key, want, created, err)
}

// A creation is what create has returned.
type creation struct {
	Created bool
	Err     error
}

// queue calls create in a goroutine and waits until the store counts it.
func queue(ctx context.Context, t *testing.T, s *repository.Store, key string) <-chan creation {
	t.Helper()
	return storetest.Enqueue(t, s, func() creation {
		created, err := create(ctx, s, key)
		return creation{created, err}
	})
}

// countSyncs counts the messages Sync of a client, after which it waits for the server.
type countSyncs struct {
	io.Reader
	n *atomic.Int32
}

func (r countSyncs) Read(p []byte) (n int, err error) {
	n, err = r.Reader.Read(p)
	r.n.Add(int32(bytes.Count(p[:n], []byte{'S', 0, 0, 0, 4})))
	return n, err
}

func TestCreationsTakeTwoRoundTrips(t *testing.T) {
	t.Parallel()
	var trips atomic.Int32
	count := func(client io.Reader) io.Reader { return countSyncs{client, &trips} }
	store := open(t, throughProxy(t, server.NewDatabase(t), count, unchanged), repository.Options{})
	for name, keys := range map[string][]string{
		"without a key": {""}, "one key": {"a"}, "three keys and none": {"b", "c", "d", ""}, "many keys": make([]string, 70),
	} {
		for i := range keys[min(len(keys), 10):] {
			keys[i] = fmt.Sprint(name, i)
		}
		for round := range 4 { // two rounds create animals, two find their claims; the first of each also prepares statements
			release := storetest.Block(t, store)
			var queued []<-chan creation
			for _, key := range keys {
				if key != "" {
					key += strconv.Itoa(min(round, 1))
				}
				queued = append(queued, queue(t.Context(), t, store, key))
			}
			before := trips.Load()
			release()
			for i, done := range queued {
				got := <-done
				testkit.Equal(t, name+": whether an animal was created", round < 2 || keys[i] == "", got.Created, got.Err)
			}
			const ofRelease = 1 // the COMMIT of storetest.Block
			if got := trips.Load() - before - ofRelease; round%2 == 1 && got != 2 {
				t.Errorf("%s: got %d round trips in round %d, want 2", name, got, round)
			}
		}
	}
}

// While a transaction waits for the lock, another process commits a claim, a call is withdrawn, and others arrive.
func TestClaimsAreFoundWhateverHappensWhileATransactionBegins(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	var batches []int
	store := open(t, dsn, repository.Options{ObserveCommit: func(calls int, _ time.Duration) { batches = append(batches, calls) }})
	wantCreated(t, store, "earlier", true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	release := storetest.Block(t, store)
	leader, withdrawn := queue(t.Context(), t, store, "meanwhile"), queue(ctx, t, store, "withdrawn")
	other := overtake(t, dsn, release)
	cancel()
	testkit.WantError(t, "the withdrawn call", (<-withdrawn).Err, context.Canceled)
	late, again := queue(t.Context(), t, store, "earlier"), queue(t.Context(), t, store, "withdrawn")
	_, err := other.ExecContext(t.Context(), `INSERT INTO idempotency_keys (caller, value, fingerprint, result, claimed_at)
		SELECT caller, 'meanwhile', fingerprint, result, claimed_at FROM idempotency_keys`)
	check(t, errors.Join(err, other.Commit()))
	testkit.Equal(t, "the creation whose key was claimed meanwhile", creation{}, <-leader)
	testkit.Equal(t, "the creation that arrived meanwhile, whose key was claimed before", creation{}, <-late)
	testkit.Equal(t, "the creation with the key of the withdrawn call", creation{Created: true}, <-again)
	testkit.Equal(t, "the batches", []int{1, 1, 3}, batches) // a claim that was not found would be rolled back, and found then
	wantPets(t, store, 2)
}

// overtake releases the store and returns a transaction that has the lock, for which the next transaction of the store waits.
func overtake(t *testing.T, dsn string, release func()) *sql.Tx {
	t.Helper()
	wantWaiting := func() {
		t.Helper()
		const waiting = "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
		testkit.WaitUntil(t, "a transaction waits for the lock", func() bool { return len(queryTexts(t, dsn, waiting)) == 1 })
	}
	tx, err := connect(t, dsn).BeginTx(t.Context(), nil)
	check(t, err)
	locked := make(chan error, 1)
	go func() { // waiters get the lock of a table in their order, but not that of a row
		_, err := tx.ExecContext(t.Context(), "LOCK TABLE store IN EXCLUSIVE MODE")
		locked <- err
	}()
	wantWaiting()
	release()
	check(t, <-locked)
	wantWaiting()
	return tx
}

// The first attempt to begin the transaction reads no claims.
func TestClaimsAreFoundOnANewConnection(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	wantCreated(t, store, "a", true)
	execute(t, dsn, terminate)
	wantCreated(t, store, "a", false)
	wantPets(t, store, 1)
}

func TestExpiredClaimIsReplaced(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	wantCreated(t, store, "a", true)
	execute(t, dsn, "UPDATE idempotency_keys SET claimed_at = 1")
	wantCreated(t, store, "a", true)
	wantCreated(t, store, "a", false)
	wantPets(t, store, 2)
}

// A newer program may have changed the table of the claims.
func TestCreationWithAKeyInANewerStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	wantCreated(t, store, "a", true)
	execute(t, dsn, "ALTER TABLE idempotency_keys RENAME value TO key; UPDATE store SET min_schema_version = 101")
	for range 2 { // the second time the statement is not prepared
		_, err := create(t.Context(), store, "a")
		testkit.WantError(t, "the error", err, domain.ErrUnavailable, engine.NewerSchemaError(101))
	}
}

// PostgreSQL stores no NUL.
func TestCreationWhoseKeyCannotBeLookedUpFailsAlone(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	release := storetest.Block(t, store)
	good, bad, none := queue(t.Context(), t, store, "good"), queue(t.Context(), t, store, "bad\x00"), queue(t.Context(), t, store, "")
	release()
	for name, created := range map[string]<-chan creation{"with a key": good, "without one": none} {
		testkit.Equal(t, "the creation "+name, creation{Created: true}, <-created)
	}
	if got := <-bad; got.Err == nil || errors.Is(got.Err, domain.ErrUnavailable) {
		t.Errorf("the creation with NUL: got %v, want the error of the statement", got)
	}
}

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
