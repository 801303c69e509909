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

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/storetest"
	"example.com/petstore/usecase"
)

// A commit that waits for a synchronous standby is already visible on the primary server, so
// the end of that wait must not be taken for a durable commit, and a retry must wait, too.
func TestCommitWhoseWaitForAStandbyIsCancelledIsUnavailable(t *testing.T) {
	t.Parallel()
	own := postgrestest.Start(t)
	dsn := own.NewDatabase(t)
	execute(t, dsn, "ALTER DATABASE "+databaseOf(t, dsn)+" SET client_min_messages = error") // hides the warning
	store := open(t, dsn, repository.Options{Migrate: true})
	claim := port.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: "k"}}
	runs, claimed := 0, false
	create := func(ctx context.Context, r port.Repositories) (err error) {
		runs++
		_, claimed, err = r.Idempotency.Claim(ctx, claim)
		if err != nil || !claimed {
			return err
		}
		return errors.Join(adding("Rex")(ctx, r), r.Idempotency.Complete(ctx, claim, []byte("result")))
	}
	setStandby(t, own, dsn, "missing")
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		done := beginCommit(t, store, dsn, create)
		execute(t, dsn, "SELECT "+end+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		wantUnavailable(t, end, <-done)
	}
	storetest.Equal(t, "the number of runs in two transactions", 2, runs)
	done := beginCommit(t, store, dsn, create)
	setStandby(t, own, dsn, "")
	check(t, <-done)
	storetest.Equal(t, "whether the key was claimed again after a commit that was unavailable but happened", false, claimed)
	wantAvailable(t, store)
}

func TestProcessThatStopsInATransactionDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	suspended := open(t, postgrestest.With(dsn, "idle_in_transaction_session_timeout", "1000"), repository.Options{Migrate: true})
	other := open(t, dsn, repository.Options{})
	wantUnavailable(t, "InTx", suspended.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		check(t, other.InTx(t.Context(), adding("Rex")))
		return adding("Tom")(ctx, r)
	}))
	wantAvailable(t, suspended)
}

// The limit of the size of files makes the server write only a part of a page, which it
// reports as a full disk.
func TestFullDiskIsUnavailableUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	var full atomic.Int32
	_, store, dsn := openOwn(t, repository.Options{ObserveFailure: func(failure engine.Failure) {
		if failure == engine.FailureFull {
			full.Add(1)
		}
	}})
	execute(t, dsn, "INSERT INTO pets (name, category_id) SELECT repeat('x', 200), 1 FROM generate_series(1, 100000)") // more than a file of the WAL
	limitFiles := func(size string) {                                                                                  // the server runs prlimit, as its own user
		for _, pid := range queryTexts(t, dsn, "SELECT pid::text FROM "+ofStore) {
			execute(t, dsn, "COPY (SELECT 1 LIMIT 0) TO PROGRAM 'prlimit --pid "+pid+" --fsize="+size+":'")
		}
	}
	limitFiles(queryTexts(t, dsn, "SELECT (pg_relation_size('pets') + 100)::text")[0])
	var err error
	add := adding(strings.Repeat("x", 1000))
	for i := 0; err == nil && i < 100; i++ {
		err = store.InTx(t.Context(), add)
	}
	for range 3 {
		wantUnavailable(t, "InTx", err)
		err = store.InTx(t.Context(), add)
	}
	storetest.Equal(t, "the failures", int32(4), full.Load())
	_, err = store.Pets().Get(t.Context(), 1)
	check(t, err)
	limitFiles("unlimited")
	check(t, store.InTx(t.Context(), add))
	wantAvailable(t, store)
}

func TestCommitOfAFailedTransactionIsAnError(t *testing.T) {
	t.Parallel()
	database, err := postgres.New(server.NewDatabase(t)).Open(t.Context(), engine.Options{Migrate: true})
	check(t, err)
	defer func() { _ = database.Close() }()
	tx, err := database.Begin(t.Context())
	check(t, err)
	if _, err := tx.ExecContext(t.Context(), "SELECT 1 / 0"); err == nil {
		t.Fatal("got no error of a division by zero")
	}
	if err := tx.Commit(engine.Changes{}); err == nil {
		t.Error("got no error of a COMMIT that rolled back")
	}
}

func wantPets(t *testing.T, s *repository.Store, want int64) {
	t.Helper()
	got, err := s.Pets().Count(t.Context(), "")
	storetest.Equal(t, "the number of pets", want, got, err)
}

// A plan that reads a table completely would be reused when the table has grown.
func TestStatementsOfABatchAreSentTogetherAndUseIndexes(t *testing.T) {
	t.Parallel()
	dsn, spans := server.NewDatabase(t), tracetest.NewInMemoryExporter()
	const scans = "SELECT seq_scan::text FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'"
	check(t, open(t, dsn, repository.Options{Migrate: true}).Close())
	before := queryTexts(t, dsn, scans)
	store := open(t, dsn, repository.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))})
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
	for i := range 20 { // PostgreSQL keeps the plan of a statement that it has run often
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
	storetest.Equal(t, "the statements", want, statements)
	inOneBatch(t, store, second...)
	for i, pet := range created {
		stored, err := store.Pets().Get(t.Context(), pet.ID)
		storetest.Equal(t, "Get", domain.Pet{ID: pet.ID, Name: fmt.Sprint("Rex ", i)}, stored, err)
		if i%4 != 0 && again[i] != pet {
			t.Errorf("the retry returned %v, want %v", again[i], pet)
		}
	}
	check(t, store.Close())
	storetest.Equal(t, "how often the table was read completely (-before +after)", before, queryTexts(t, dsn, scans))
}

func TestFailureInABatchIsThatOfItsCallerAlone(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	failure := errors.New("failure")
	claim := port.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: "k"}}
	violating := func(ctx context.Context, r port.Repositories) error { // a CHECK of the table
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

// Later functions with the same key get the result of the first one, and no function runs again.
func TestKeyIsClaimedOnceInABatch(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	var replays, runs atomic.Int32
	create := func(ctx context.Context) {
		pet, replayed, err := newPets(store).Create(ctx, domain.NewPet{Name: "Rex"}, domain.IdempotencyKey{Caller: "1", Value: "key"})
		storetest.Equal(t, "Create", domain.Pet{ID: 1, Name: "Rex"}, pet, err)
		if replayed {
			replays.Add(1)
		}
	}
	inOneBatch(t, store, create, create, create, func(ctx context.Context) {
		check(t, store.InTx(ctx, func(context.Context, port.Repositories) error { runs.Add(1); return nil }))
	})
	storetest.Equal(t, "the replays, and the runs of another function", [2]int32{2, 1}, [2]int32{replays.Load(), runs.Load()})
}

func newPets(s *repository.Store) *usecase.Pets {
	return usecase.NewPets(s, s.Pets())
}

// inOneBatch calls functions that call InTx with their context, so that they share a batch and are queued in this order.
func inOneBatch(t *testing.T, s *repository.Store, calls ...func(context.Context)) {
	t.Helper()
	var wait sync.WaitGroup
	defer wait.Wait()
	release := storetest.Block(t, func(wait func()) error {
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

// TestPagesOfAStatusAreFoundByTheirIndex: pages of a status that PostgreSQL believes to be in every category take a second with
// ten million animals, if it reads all of them in the order of their ids.
func TestPagesOfAStatusAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, dsn, repository.Options{Migrate: true})
	err := store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		news := slices.Repeat([]domain.NewPet{{Name: "Rex", CategoryID: 1, Status: domain.PetSold}, {Name: "Tom", CategoryID: 2, Status: domain.PetPending}}, 5000)
		_, err := r.Pets.Create(ctx, news)
		return err
	})
	check(t, err)
	execute(t, dsn, "ANALYZE")
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
