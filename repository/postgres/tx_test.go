package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres/postgrestest"
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
		waitUntil(t, "a commit waits for the standby", func() bool { return len(queryTexts(t, dsn, waiting)) == 1 })
		return done
	}

	setStandby(t, own, dsn, "missing")
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		done := commit()
		execute("SELECT "+end+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")(t, dsn)
		wantUnavailable(t, end, <-done)
	}
	if runs != 2 {
		t.Errorf("the function ran %d times in two transactions, want each once", runs)
	}
	done := commit()
	setStandby(t, own, dsn, "")
	check(t, <-done)
	if claimed {
		t.Error("the key was claimed again after a commit that was unavailable but happened")
	}
	wantAvailable(t, store)
}

func TestProcessThatStopsInATransactionDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	suspended := open(t, postgrestest.With(dsn, "idle_in_transaction_session_timeout", "100"), repository.Options{Migrate: true})
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
	if full.Load() != 4 {
		t.Errorf("got %d failures full, want 4", full.Load())
	}
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
	for _, pid := range queryTexts(t, dsn, "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petstore'") {
		execute("COPY (SELECT 1 LIMIT 0) TO PROGRAM 'prlimit --pid "+pid+" --fsize="+size+":'")(t, dsn)
	}
}
