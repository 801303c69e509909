package postgres_test

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
)

// A commit that waits for a synchronous standby is already durable on the primary server. If the wait is
// cancelled, the commit becomes visible, although the standby may not have it. So the commit must be
// unavailable, and a retry must also wait.
func TestCommitWhoseWaitForAStandbyIsCancelledIsUnavailable(t *testing.T) {
	t.Parallel()
	own := postgrestest.Start(t)
	dsn := own.NewDatabase(t)
	execute(t, dsn, "ALTER DATABASE "+databaseOf(t, dsn)+" SET client_min_messages = error") // this setting hides the warning
	store := open(t, dsn, repository.Options{})
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
	testkit.Equal(t, "the number of runs in two transactions", 2, runs)
	done := beginCommit(t, store, dsn, create)
	setStandby(t, own, dsn, "")
	check(t, <-done)
	testkit.Equal(t, "whether the key was claimed again after a commit that was unavailable but happened", false, claimed)
	wantAvailable(t, store)
}

func TestProcessThatStopsInATransactionDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	other := open(t, dsn, repository.Options{}) // creates the store, which may take longer than a second
	suspended := open(t, postgrestest.With(dsn, "idle_in_transaction_session_timeout", "1000"), repository.Options{})
	wantUnavailable(t, "InTx", suspended.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		check(t, other.InTx(t.Context(), adding("Rex")))
		return adding("Tom")(ctx, r)
	}))
	wantAvailable(t, suspended)
}

// A limit of the file size makes the server write only a part of a page. It reports that as a full disk.
func TestFullDiskIsUnavailableUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	var full atomic.Int32
	_, store, dsn := openOwn(t, repository.Options{ObserveFailure: func(failure engine.Failure) {
		if failure == engine.FailureFull {
			full.Add(1)
		}
	}})
	// The table gets larger than a file of the WAL (16 MiB), so the limit does not affect the WAL.
	execute(t, dsn, `INSERT INTO pets (id, name, category_id) SELECT n, repeat('x', 200), 1 FROM generate_series(1, 100000) AS n;
		UPDATE store SET last_pet = 100000`)
	limitFiles := func(size string) { // the server runs prlimit as its own user
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
	testkit.Equal(t, "the failures", int32(4), full.Load())
	_, err = store.Pets().Get(t.Context(), 1)
	check(t, err)
	limitFiles("unlimited")
	check(t, store.InTx(t.Context(), add))
	wantAvailable(t, store)
}

func TestCommitOfAFailedTransactionIsAnError(t *testing.T) {
	t.Parallel()
	database, err := postgres.New(server.NewDatabase(t)).Open(t.Context(), engine.Options{})
	check(t, err)
	defer func() { _ = database.Close() }()
	for _, queued := range []bool{false, true} {
		tx, err := database.Begin(t.Context(), nil)
		check(t, err)
		if _, err := tx.ExecContext(t.Context(), "SELECT 1 / 0"); err == nil {
			t.Fatal("got no error of a division by zero")
		}
		if queued {
			check(t, tx.Queue("UPDATE store SET position = position + 1"))
		}
		if err := tx.Commit(); err == nil {
			t.Errorf("queued %t: got no error of a COMMIT that rolled back", queued)
		}
	}
}

// pgx prepares no statement in some of these modes, which a connection string may choose.
func TestTransactionsRunInEachModeOfPGX(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		dsn := postgrestest.With(server.NewDatabase(t), "default_query_exec_mode", mode)
		database, err := postgres.New(dsn).Open(t.Context(), engine.Options{})
		check(t, err)
		for range 2 { // the second transaction uses the statements that the first one has prepared
			before, _, err := database.Poll(t.Context())
			check(t, err)
			tx, err := database.Begin(t.Context(), nil)
			check(t, err)
			check(t, tx.Queue("UPDATE store SET position = position + $1", int64(2)))
			check(t, tx.Commit())
			after, others, err := database.Poll(t.Context())
			testkit.Equal(t, mode+": the position", before.Position+2, after.Position, err)
			testkit.Equal(t, mode+": whether there may be other commits", false, others)
			tx, err = database.Begin(t.Context(), nil)
			check(t, err)
			_, err = tx.ExecContext(t.Context(), "DELETE FROM store")
			testkit.Equal(t, mode+": Rollback", nil, tx.Rollback(), err)
		}
		check(t, database.Close())
		store := open(t, dsn, repository.Options{})
		wantCreated(t, store, "a", true)
		wantCreated(t, store, "a", false)
	}
}

// The error of a queued statement is returned by the next statement, or by Commit, and nothing is stored.
func TestQueuedStatementThatFailsRollsBack(t *testing.T) {
	t.Parallel()
	database, err := postgres.New(server.NewDatabase(t)).Open(t.Context(), engine.Options{})
	check(t, err)
	defer func() { _ = database.Close() }()
	const insert = "INSERT INTO pets (id, name, category_id) VALUES ($1, $2, 1)"
	for range 2 { // a connection is used again
		for _, flushed := range []bool{false, true} {
			tx, err := database.Begin(t.Context(), nil)
			check(t, err)
			check(t, tx.Queue(insert, int64(1), "Rex"))
			check(t, tx.Queue(insert, int64(2), ""))
			if flushed {
				if _, err := tx.ExecContext(t.Context(), "SELECT 1"); err == nil {
					t.Error("the next statement has no error")
				}
			}
			err = tx.Commit()
			if _, ok := errors.AsType[engine.NotCommittedError](err); err == nil || !flushed && !ok {
				t.Errorf("Commit returned %v, want a NotCommittedError", err)
			}
			_ = tx.Rollback()
			var pets int
			err = database.Pools()["readers"].QueryRowContext(t.Context(), "SELECT count(*) FROM pets").Scan(&pets)
			testkit.Equal(t, "the number of animals", 0, pets, err)
		}
	}
}

// A migration changes the types of columns while the service runs: PostgreSQL then rejects the statements that a connection
// has prepared before, because "cached plan must not change result type".
func TestStatementsOutdatedByAMigrationRunAgain(t *testing.T) {
	t.Parallel()
	_, dsn := openNew(t)
	var failures atomic.Int32
	store := open(t, dsn, repository.Options{ObserveFailure: func(engine.Failure) { failures.Add(1) }})
	use := func() {
		for i := range 8 { // each connection of the pool
			var wait sync.WaitGroup
			for range 8 {
				wait.Go(func() {
					_, err := store.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 10}})
					_, getErr := store.Pets().List(t.Context(), domain.PetQuery{IDs: []int64{1}, PageRequest: domain.PageRequest{Limit: 10}})
					_, numbersErr := store.Numbers(t.Context())
					testkit.Equal(t, "the errors of reads", nil, errors.Join(err, getErr, numbersErr))
				})
			}
			wait.Wait()
			claim := port.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: strconv.Itoa(i % 2)}}
			_, _, err := storetest.CreatePets(t.Context(), store, []domain.NewPet{{Name: "Rex"}}, claim)
			check(t, err)
			check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
				pet, err := r.Pets.Get(ctx, 1)
				after := pet
				after.CategoryID++
				_, keyErr := r.Keys.Any(ctx)
				return cmp.Or(err, keyErr, r.Pets.Update(ctx, pet, after))
			}))
		}
	}
	use()
	for _, alter := range []string{
		"pets ALTER name TYPE VARCHAR(200)", "store ALTER position TYPE NUMERIC, ALTER available TYPE NUMERIC",
		"idempotency_keys ALTER value TYPE VARCHAR(300), ALTER claimed_at TYPE NUMERIC", "api_keys ALTER id TYPE NUMERIC",
	} {
		execute(t, dsn, "ALTER TABLE "+alter)
		use()
	}
	testkit.Equal(t, "the failures", int32(0), failures.Load())
}
