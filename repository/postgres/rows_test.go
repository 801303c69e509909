package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/storetest"
	"example.com/petstore/usecase"
)

// The rules of package domain reject such a text before it gets here.
func TestTextThatPostgreSQLCannotStoreFails(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	if err := store.InTx(t.Context(), adding("Rex\x00")); err == nil || errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want an error that is not unavailable", err)
	}
	check(t, store.InTx(t.Context(), adding("Rex")))
}

func TestStatementsThatChangeNoCountWriteNone(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	check(t, store.InTx(t.Context(), adding("Rex")))
	const versions = "SELECT xmin::text FROM pet_counts UNION ALL SELECT xmin::text FROM pet_totals"
	before := queryTexts(t, dsn, versions)
	rex, err := store.Pets().Get(t.Context(), 1)
	check(t, err)
	for name, statement := range map[string]func(context.Context, port.PetRepository) (bool, error){
		"an order that is refused": func(ctx context.Context, pets port.PetRepository) (bool, error) {
			return pets.ChangeStatusIf(ctx, rex.ID, []domain.PetStatus{domain.PetSold}, domain.PetPending)
		},
		"the removal of a changed animal": func(ctx context.Context, pets port.PetRepository) (bool, error) {
			return pets.Remove(ctx, domain.Pet{ID: rex.ID})
		},
		"a new name": func(ctx context.Context, pets port.PetRepository) (bool, error) {
			return pets.Replace(ctx, rex, domain.Pet{ID: rex.ID, Name: "Tom", CategoryID: rex.CategoryID, Status: rex.Status})
		},
	} {
		check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			done, err := statement(ctx, r.Pets)
			testkit.Equal(t, name, name == "a new name", done, err)
			_, err = r.Imports.Advance(ctx, port.FileDigest{byte(len(name))}, port.ImportState{}, port.ImportState{Added: 1}, time.Unix(0, 0))
			return err // without a change, the transaction would not be committed
		}))
		testkit.Equal(t, name+": the versions of the counts", before, queryTexts(t, dsn, versions))
	}
}

// A plan that reads a table completely would still be used when the table has grown.
func TestStatementsOfABatchAreSentTogetherAndUseIndexes(t *testing.T) {
	t.Parallel()
	dsn, spans := server.NewDatabase(t), tracetest.NewInMemoryExporter()
	const scans = "SELECT seq_scan::text FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'"
	check(t, open(t, dsn, repository.Options{}).Close())
	before := queryTexts(t, dsn, scans)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	store := open(t, dsn, repository.Options{TracerProvider: provider})
	_, request := provider.Tracer("test").Start(t.Context(), "request")
	const n = 40
	var created, again [n]domain.Pet
	create := func(i int, pets []domain.Pet, wantReplayed bool) func(context.Context) {
		name, key := fmt.Sprint("Rex ", i), domain.IdempotencyKey{Caller: "1", Value: fmt.Sprint("key", i)}
		if i%4 == 0 {
			key = domain.IdempotencyKey{}
		}
		return func(ctx context.Context) {
			pet, replayed, err := newPets(store).Create(trace.ContextWithSpan(ctx, request), domain.NewPet{Name: name}, key)
			testkit.Equal(t, name+": whether it was replayed", wantReplayed && !key.IsZero(), replayed, err)
			pets[i] = pet
		}
	}
	var first, second []func(context.Context)
	for i := range n {
		first, second = append(first, create(i, created[:], false)), append(second, create(i, again[:], true))
	}
	for i := range 20 { // PostgreSQL reuses the plan of a statement that has often run
		key := domain.IdempotencyKey{Caller: "2", Value: fmt.Sprint("key", i)}
		_, _, err := newPets(store).Create(t.Context(), domain.NewPet{Name: "Tom"}, key)
		check(t, err)
	}
	spans.Reset()
	inOneBatch(t, store, first...)
	statements := map[string]int{}
	for _, span := range spans.GetSpans() {
		words := strings.Fields(span.Attributes[0].Value.AsString())
		statements[strings.Join(words[:min(3, len(words))], " ")]++
	}
	want := map[string]int{"SELECT n, stored.*": 1, `DELETE FROM "idempotency_keys"`: 1, "INSERT INTO idempotency_keys": 1, "WITH numbered AS": 1}
	testkit.Equal(t, "the statements", want, statements)
	inOneBatch(t, store, second...)
	for i, pet := range created {
		stored, err := store.Pets().Get(t.Context(), pet.ID)
		testkit.Equal(t, "Get", domain.Pet{ID: pet.ID, Name: fmt.Sprint("Rex ", i)}, stored, err)
		if i%4 != 0 && again[i] != pet {
			t.Errorf("the retry returned %v, want %v", again[i], pet)
		}
	}
	check(t, store.Close())
	testkit.Equal(t, "how often the table was read completely (-before +after)", before, queryTexts(t, dsn, scans))
}

func TestFailureInABatchIsThatOfItsCallerAlone(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	failure := errors.New("failure")
	claim := port.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: "k"}}
	violating := func(ctx context.Context, r port.Repositories) error { // violates a CHECK of the table
		_, err := r.Pets.Create(ctx, []domain.NewPet{{Name: "invalid", Status: "unknown"}})
		return err
	}
	var runs atomic.Int32
	counted := func(ctx context.Context, r port.Repositories) error {
		runs.Add(1)
		return adding("counted")(ctx, r)
	}
	for name, c := range map[string]struct {
		failing storetest.TxFunc
		runs    int32 // the number of runs of another function of the batch
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
		testkit.Equal(t, name+": the runs of another function", c.runs, runs.Load())
	}
	storetest.WantNames(t, store, slices.Repeat([]string{"counted", "last"}, 5)...)
}

// Later functions with the same key get the result of the first one. No function runs again.
func TestKeyIsClaimedOnceInABatch(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	var replays, runs atomic.Int32
	create := func(ctx context.Context) {
		pet, replayed, err := newPets(store).Create(ctx, domain.NewPet{Name: "Rex"}, domain.IdempotencyKey{Caller: "1", Value: "key"})
		testkit.Equal(t, "Create", domain.Pet{ID: 1, Name: "Rex"}, pet, err)
		if replayed {
			replays.Add(1)
		}
	}
	inOneBatch(t, store, create, create, create, func(ctx context.Context) {
		check(t, store.InTx(ctx, func(context.Context, port.Repositories) error { runs.Add(1); return nil }))
	})
	testkit.Equal(t, "the replays, and the runs of another function", [2]int32{2, 1}, [2]int32{replays.Load(), runs.Load()})
}

func newPets(s *repository.Store) *usecase.Pets {
	return usecase.NewPets(s, s.Pets())
}

// inOneBatch calls functions that call InTx with the given context, so that they are queued in this order
// and share a batch.
func inOneBatch(t *testing.T, s *repository.Store, calls ...func(context.Context)) {
	t.Helper()
	var wait sync.WaitGroup
	defer wait.Wait()
	release := testkit.Block(t, func(wait func()) error {
		return s.InTx(t.Context(), func(context.Context, port.Repositories) error { wait(); return nil })
	})
	for _, call := range calls {
		queued, done := context.WithCancel(t.Context())
		wait.Go(func() {
			defer done()
			call(queuedContext{t.Context(), done})
		})
		<-queued.Done()
	}
	release()
}

// A queuedContext calls queued when InTx calls Done. InTx calls Done when the call is queued.
type queuedContext struct {
	context.Context
	queued func()
}

func (c queuedContext) Done() <-chan struct{} {
	c.queued()
	return c.Context.Done()
}
