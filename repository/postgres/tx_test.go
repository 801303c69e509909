package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/storetest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A commit that waits for a synchronous standby is already visible on the primary server, so
// the end of that wait must not be taken for a durable commit, and a retry must wait, too.
func TestCommitWhoseWaitForAStandbyIsCancelledIsUnavailable(t *testing.T) {
	t.Parallel()
	own := postgrestest.Start(t)
	dsn := own.NewDatabase(t)
	execute("ALTER DATABASE "+databaseOf(t, dsn)+" SET client_min_messages = error")(t, dsn) // hides the warning
	store := open(t, dsn, repository.Options{Migrate: true})
	const waiting = "SELECT pid::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
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
	commit := func() <-chan error {
		done := make(chan error, 1)
		go func() { done <- store.InTx(t.Context(), create) }()
		storetest.WaitUntil(t, "a commit waits for the standby", func() bool { return len(queryTexts(t, dsn, waiting)) == 1 })
		return done
	}

	setStandby(t, own, dsn, "missing")
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		done := commit()
		execute("SELECT "+end+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")(t, dsn)
		wantUnavailable(t, end, <-done)
	}
	storetest.Equal(t, "the number of runs in two transactions", 2, runs)
	done := commit()
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
	dsn := postgrestest.Start(t).NewDatabase(t) // on this machine
	var full atomic.Int32
	store := open(t, dsn, repository.Options{Migrate: true, ObserveFailure: func(failure engine.Failure) {
		if failure == engine.FailureFull {
			full.Add(1)
		}
	}})
	execute("INSERT INTO pets (name, category_id) SELECT repeat('x', 200), 1 FROM generate_series(1, 100000)")(t, dsn) // more than a file of the WAL
	limitFiles(t, dsn, queryTexts(t, dsn, "SELECT (pg_relation_size('pets') + 100)::text")[0])
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
	limitFiles(t, dsn, "unlimited")
	check(t, store.InTx(t.Context(), add))
	wantAvailable(t, store)
}

// limitFiles limits the size of the files that the connections of a store may write. The
// server runs prlimit, as its own user.
func limitFiles(t *testing.T, dsn, size string) {
	t.Helper()
	for _, pid := range queryTexts(t, dsn, "SELECT pid::text FROM "+ofStore) {
		execute("COPY (SELECT 1 LIMIT 0) TO PROGRAM 'prlimit --pid "+pid+" --fsize="+size+":'")(t, dsn)
	}
}

// creating returns n calls that create a pet with a key.
func creating(t *testing.T, s *repository.Store, n int) (calls []func(context.Context)) {
	t.Helper()
	for i := range n {
		calls = append(calls, func(ctx context.Context) {
			key := domain.IdempotencyKey{Caller: "1", Value: fmt.Sprint("pet", i)}
			pet, replayed, err := newPets(s).Create(ctx, domain.NewPet{Name: fmt.Sprint("Rex ", i)}, key)
			if err != nil || replayed || pet.ID == 0 {
				t.Errorf("Create: got %v, %t, %v, want a new pet", pet, replayed, err)
			}
		})
	}
	return calls
}

// openRecorded opens a new store whose statements are recorded.
func openRecorded(t *testing.T) (*repository.Store, *recorder) {
	t.Helper()
	r := &recorder{tracetest.NewSpanRecorder()}
	return open(t, server.NewDatabase(t), repository.Options{Migrate: true, TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))}), r
}

// A recorder records the statements of a store.
type recorder struct{ *tracetest.SpanRecorder }

// count returns how many statements begin with the same words, of which it compares n.
func (r *recorder) count(n int) map[string]int {
	counts := map[string]int{}
	for _, span := range r.Ended() {
		words := strings.Fields(span.Attributes()[0].Value.AsString())
		counts[strings.Join(words[:min(n, len(words))], " ")]++
	}
	return counts
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
