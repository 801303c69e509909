package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/storetest"
	"example.com/petstore/usecase"
)

func TestStatementsOfABatchAreSentTogether(t *testing.T) {
	t.Parallel()
	store, recorder := openRecorded(t)
	const n = 40
	var created, again [n]domain.Pet
	create := func(i int, pets []domain.Pet, wantReplayed bool) func(context.Context) {
		name, key := fmt.Sprint("Rex ", i), domain.IdempotencyKey{Caller: "1", Value: fmt.Sprint("key", i)}
		if i%4 == 0 {
			key = domain.IdempotencyKey{}
		}
		return func(ctx context.Context) {
			pet, replayed, err := newPets(store).Create(ctx, domain.NewPet{Name: name}, key)
			storetest.Equal(t, name+": whether it was replayed", wantReplayed && !key.IsZero(), replayed, err)
			pets[i] = pet
		}
	}
	var first, second []func(context.Context)
	for i := range n {
		first, second = append(first, create(i, created[:], false)), append(second, create(i, again[:], true))
	}
	recorder.Reset()
	inOneBatch(t, store, first...)
	// The pets without a key are added while the keys are claimed.
	want := map[string]int{"SELECT n, fingerprint,": 1, `DELETE FROM "idempotency_keys"`: 1, "INSERT INTO idempotency_keys": 1, "WITH numbered AS": 2}
	storetest.Equal(t, "the statements", want, recorder.count(3))
	inOneBatch(t, store, second...)
	for i, pet := range created {
		stored, err := store.Pets().Get(t.Context(), pet.ID)
		storetest.Equal(t, "Get", domain.Pet{ID: pet.ID, Name: fmt.Sprint("Rex ", i)}, stored, err)
		if i%4 != 0 && again[i] != pet {
			t.Errorf("the retry returned %v, want %v", again[i], pet)
		}
	}
}

func TestFailureInABatchIsThatOfItsCallerAlone(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	failure := errors.New("failure")
	claim := port.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: "k"}}
	violating := func(ctx context.Context, r port.Repositories) error { // a CHECK of the table
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: "invalid", Status: "unknown"})
		return err
	}
	var runs atomic.Int32
	counted := func(ctx context.Context, r port.Repositories) error {
		runs.Add(1)
		return adding("counted")(ctx, r)
	}
	for name, c := range map[string]struct {
		failing storetest.TxFunc
		runs    int32 // of another function of the batch
	}{
		"fails after a claim": {func(ctx context.Context, r port.Repositories) error {
			_, _, err := r.Idempotency.Claim(ctx, claim)
			return errors.Join(err, failure)
		}, 1},
		"fails after a completed claim": {func(ctx context.Context, r port.Repositories) error {
			return errors.Join(r.Idempotency.Complete(ctx, claim, nil), failure)
		}, 2},
		"fails because of its values": {violating, 2},
		"ignores an error":            {func(ctx context.Context, r port.Repositories) error { _ = violating(ctx, r); return nil }, 2},
		"ignores an error, continues": {func(ctx context.Context, r port.Repositories) error {
			_ = violating(ctx, r)
			return adding("lost")(ctx, r)
		}, 2},
	} {
		runs.Store(0)
		inOneBatch(
			t, store,
			func(ctx context.Context) { check(t, store.InTx(ctx, counted)) },
			func(ctx context.Context) {
				if err := store.InTx(ctx, c.failing); err == nil {
					t.Errorf("%s: got no error", name)
				}
			},
			func(ctx context.Context) { check(t, store.InTx(ctx, adding("last"))) },
		)
		storetest.Equal(t, name+": the runs of another function", c.runs, runs.Load())
	}
	storetest.WantNames(t, store, slices.Repeat([]string{"counted", "last"}, 5)...)
}

// Later functions with the same key get the result of the first one.
func TestKeyIsClaimedOnceInABatch(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	var mu sync.Mutex
	got := map[string]int{}
	create := func(name string) func(context.Context) {
		return func(ctx context.Context) {
			pet, replayed, err := newPets(store).Create(ctx, domain.NewPet{Name: name}, domain.IdempotencyKey{Caller: "1", Value: "key"})
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprintf("%q %t %t", pet.Name, replayed, errors.Is(err, domain.ErrReused))]++
		}
	}
	runs := 0
	inOneBatch(t, store, create("Rex"), create("Rex"), create("Rex"), func(ctx context.Context) {
		check(t, store.InTx(ctx, func(context.Context, port.Repositories) error { runs++; return nil }))
	})
	storetest.Equal(t, "the runs of another function of the batch", 1, runs)
	inOneBatch(t, store, create("Tom"), create("Rex"))
	want := map[string]int{`"Rex" false false`: 1, `"Rex" true false`: 3, `"" false true`: 1}
	storetest.Equal(t, "name, whether it was replayed, whether the key was reused", want, got)
}

func newPets(s *repository.Store) *usecase.Pets {
	return usecase.NewPets(s, s.Pets(), func() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) })
}

// inOneBatch calls functions that call InTx with their context, so that they share a batch.
func inOneBatch(t *testing.T, s *repository.Store, calls ...func(context.Context)) {
	t.Helper()
	var wait sync.WaitGroup
	defer wait.Wait()
	release := storetest.Block(t, func(wait func()) error {
		return s.InTx(t.Context(), func(context.Context, port.Repositories) error { wait(); return nil })
	})
	var queued sync.WaitGroup
	for _, call := range calls {
		queued.Add(1)
		done := sync.OnceFunc(queued.Done)
		wait.Go(func() {
			defer done()
			call(queuedContext{t.Context(), done})
		})
	}
	queued.Wait()
	release()
}

// A queuedContext calls queued when InTx waits for it, which it does when the transaction is
// in the queue.
type queuedContext struct {
	context.Context
	queued func()
}

func (c queuedContext) Done() <-chan struct{} {
	c.queued()
	return c.Context.Done()
}

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
	storetest.Equal(t, "how often the table was read completely (-before +after)", before, queryTexts(t, dsn, scans))
}

// TestPagesOfAStatusAreFoundByTheirIndex: pages of a status that PostgreSQL believes to be in every category take a second with
// ten million animals, if it reads all of them in the order of their ids.
func TestPagesOfAStatusAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, dsn, repository.Options{Migrate: true})
	err := store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		news := slices.Repeat([]domain.NewPet{{Name: "Rex", CategoryID: 1, Status: domain.PetSold}, {Name: "Tom", CategoryID: 2, Status: domain.PetPending}}, 5000)
		_, err := r.Pets.CreateAll(ctx, news)
		return err
	})
	check(t, err)
	execute("ANALYZE")(t, dsn)
	for _, query := range []domain.PetQuery{
		{CategoryID: new(int64(1))}, // reads the index for each status
		{CategoryID: new(int64(1)), Status: domain.PetSold},
		{CategoryID: new(int64(1)), Status: domain.PetPending},
		{Status: domain.PetAvailable},
		{Status: domain.PetPending},
	} {
		query.PageRequest = domain.PageRequest{After: 100, Limit: 20}
		_, err := store.Pets().List(t.Context(), query)
		check(t, err)
	}
	check(t, store.Close())
	want := []string{"pets_category_id_status_id 6", "pets_pkey 0", "pets_status_id 2"}
	storetest.WaitUntil(t, "the indexes are used", func() bool { // PostgreSQL counts when a connection ends
		return slices.Equal(want, queryTexts(t, dsn, "SELECT indexrelname || ' ' || idx_scan FROM pg_stat_user_indexes WHERE relname = 'pets' ORDER BY 1"))
	})
}
