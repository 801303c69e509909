package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// terminate closes the other connections to the database.
const terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

func TestLostConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	wantAvailable(t, store)
	execute(t, dsn, terminate) // closes the idle connections
	wantAvailable(t, store)
	wantUnavailable(t, "InTx", store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		execute(t, dsn, terminate)
		return adding("Rex")(ctx, r)
	}))
	wantAvailable(t, store)
	wantConnections(t, dsn, 2+4)
}

func TestStoppedOrDemotedServerIsUnavailable(t *testing.T) {
	t.Parallel()
	own, store, dsn := openOwn(t, repository.Options{})
	for range 2 {
		check(t, own.Stop())
		for range 3 {
			wantAllUnavailable(t, store)
		}
		check(t, own.Start())
		wantAvailable(t, store)
	}
	wantConnections(t, dsn, 2+4)
	// The connections keep their server, but it becomes read-only, as when it is demoted.
	for _, readOnly := range []bool{true, false} {
		check(t, own.Exec(t.Context(), fmt.Sprintf("ALTER SYSTEM SET default_transaction_read_only = %t", readOnly)))
		check(t, own.Exec(t.Context(), "SELECT pg_reload_conf()"))
		testkit.WaitUntil(t, "the setting applies", func() bool { return (store.InTx(t.Context(), adding("Rex")) != nil) == readOnly })
		if readOnly {
			wantUnavailable(t, "InTx", store.InTx(t.Context(), adding("Rex")))
		}
	}
}

// A read fails when its deadline expires. A transaction without a deadline waits until the server continues.
func TestFrozenServerIsUnavailableUntilItContinues(t *testing.T) {
	t.Parallel()
	_, store, dsn := openOwn(t, repository.Options{})
	wantAvailable(t, store)
	signalAll := func(signal syscall.Signal, pids []string) {
		for _, pid := range pids {
			number, err := strconv.Atoi(pid)
			check(t, err)
			if err := syscall.Kill(number, signal); !errors.Is(err, syscall.ESRCH) { // a connection that Open has closed may end meanwhile
				check(t, err)
			}
		}
	}
	pids := queryTexts(t, dsn, "SELECT pid::text FROM "+ofStore)
	signalAll(syscall.SIGSTOP, pids)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := store.Pets().Get(ctx, 1)
	wantUnavailable(t, "Get", err)
	committed := make(chan error, 1)
	go func() { committed <- store.InTx(t.Context(), adding("Rex")) }()
	signalAll(syscall.SIGCONT, pids)
	check(t, <-committed)
	wantAvailable(t, store)
}

func TestServerThatRejectsConnectionsIsUnavailableUntilItAcceptsThem(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	name := databaseOf(t, dsn)
	user := name + "_secret"
	check(t, server.Exec(t.Context(), "CREATE ROLE "+user+" LOGIN; ALTER DATABASE "+name+" OWNER TO "+user))
	store := open(t, postgrestest.With(dsn, "user", user), repository.Options{})
	for _, alter := range []struct{ subject, reject, accept string }{
		{"DATABASE " + name, "SET default_transaction_read_only = on", "RESET default_transaction_read_only"},
		{"ROLE " + user, "CONNECTION LIMIT 0", "CONNECTION LIMIT -1"},
		{"ROLE " + user, "NOLOGIN", "LOGIN"},
	} {
		check(t, server.Exec(t.Context(), "ALTER "+alter.subject+" "+alter.reject))
		execute(t, dsn, terminate)
		wantAllUnavailable(t, store)
		check(t, server.Exec(t.Context(), "ALTER "+alter.subject+" "+alter.accept))
		wantAvailable(t, store)
	}
}

func TestLockedTableIsUnavailable(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, postgrestest.With(dsn, "lock_timeout", "100"), repository.Options{})
	for _, table := range []string{"store", "pets"} {
		unlock := lock(t, dsn, table)
		wantUnavailable(t, "InTx", store.InTx(t.Context(), adding("Rex")))
		var err error
		if table == "pets" {
			_, err = store.Pets().Get(t.Context(), 1)
		} else {
			_, err = store.Numbers(t.Context())
		}
		wantUnavailable(t, "reading "+table, err)
		unlock()
		wantAvailable(t, store)
	}
}

// lock locks a table until unlock is called.
func lock(t *testing.T, dsn, table string) (unlock func()) {
	t.Helper()
	tx, err := connect(t, dsn).BeginTx(t.Context(), nil)
	check(t, err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE "+table)
	check(t, err)
	return func() { check(t, tx.Rollback()) }
}

// A sequence is not rolled back, so the trigger fails only once.
func TestDeadlockedBatchRunsAgain(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	execute(t, dsn, `CREATE SEQUENCE tries; CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('tries') = 1 THEN RAISE EXCEPTION USING ERRCODE = 'deadlock_detected'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER deadlock BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION deadlock()`)
	runs := 0
	check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		runs++
		return adding("Rex")(ctx, r)
	}))
	testkit.Equal(t, "the number of runs", 2, runs)
	wantPets(t, store, 1)
}

// pgx closes the connection of a query that is interrupted. So the query of a cancelled request continues.
func TestCancelledRequestKeepsItsConnection(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, dsn, repository.Options{Options: engine.Options{MaxOpenConns: 1}})
	check(t, store.InTx(t.Context(), adding("Rex")))
	connections := func() []string { return queryTexts(t, dsn, "SELECT pid::text FROM "+ofStore+" ORDER BY pid") }
	for name, read := range map[string]func(context.Context) error{
		"a query of one request": func(ctx context.Context) error {
			return store.Pets().Each(ctx, "", func(domain.Pet) error { return nil })
		},
		"a shared query": func(ctx context.Context) error {
			_, err := store.Pets().Get(ctx, 1)
			return err
		},
	} {
		check(t, read(t.Context()))
		wantConnections(t, dsn, 2)
		before := connections()
		unlock := lock(t, dsn, "pets")
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- read(ctx) }()
		testkit.WaitUntil(t, "it waits for the lock", func() bool {
			return len(queryTexts(t, dsn, "SELECT pid::text FROM "+ofStore+" AND wait_event_type = 'Lock'")) == 1
		})
		cancel()
		unlock()
		if err := <-result; name == "a query of one request" {
			wantUnavailable(t, name+" that is cancelled", err)
		}
		check(t, read(t.Context()))
		testkit.Equal(t, "the connections after "+name+" that is cancelled", before, connections())
	}
}

// ofStore selects the connections of the stores of a database.
const ofStore = "pg_stat_activity WHERE datname = current_database() AND application_name = 'petstore'"

// wantAllUnavailable expects an ErrUnavailable from each kind of call.
func wantAllUnavailable(t *testing.T, s *repository.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, getErr := s.Pets().Get(ctx, 1)
	_, listErr := s.Orders().List(ctx, domain.OrderQuery{PageRequest: domain.PageRequest{Limit: 1}})
	_, findErr := s.Keys().FindByHash(ctx, apikey.Hash{})
	for name, err := range map[string]error{
		"Get": getErr, "List": listErr, "FindByHash": findErr, "Ping": s.Ping(ctx), "InTx": s.InTx(ctx, adding("Rex")),
	} {
		wantUnavailable(t, name, err)
	}
}

// wantUnavailable expects an ErrUnavailable. Its cause is logged, so it must not contain the user of the
// DSN.
func wantUnavailable(t *testing.T, call string, err error) {
	t.Helper()
	testkit.WantError(t, call, err, domain.ErrUnavailable)
	if known, ok := errors.AsType[*domain.Error](err); ok && strings.Contains(known.Cause.Error(), "secret") {
		t.Errorf("%s: got the cause %v, want none with the user", call, known.Cause)
	}
}

// The timeout of the store is for those who set no deadline.
func TestReadEndsAtTheDeadlineOfItsContext(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, dsn, repository.Options{Timeout: time.Hour})
	wantAvailable(t, store)
	unlock := lock(t, dsn, "pets")
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Scaled(200*time.Millisecond))
	defer cancel()
	testkit.WantError(t, "Ping", store.Ping(ctx), domain.ErrUnavailable, context.DeadlineExceeded)
}

// wantAvailable expects that transactions and concurrent reads succeed.
func wantAvailable(t *testing.T, s *repository.Store) {
	t.Helper()
	check(t, s.InTx(t.Context(), adding("Rex")))
	testkit.Concurrently(t, 16, func(int) (bool, error) {
		_, err := s.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 1}})
		return true, err
	})
	check(t, s.Ping(t.Context()))
}

// wantConnections waits until the stores have at most limit connections to the database.
func wantConnections(t *testing.T, dsn string, limit int) {
	t.Helper()
	testkit.WaitUntil(t, "closed connections have ended", func() bool {
		return len(queryTexts(t, dsn, "SELECT pid::text FROM "+ofStore)) <= limit
	})
}
