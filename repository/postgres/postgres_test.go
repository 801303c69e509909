package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
)

// server is the server of the tests that do not stop it.
var server *postgrestest.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.WithServer(m, &server)) }

func TestStoreContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store {
		o := repository.Options{SearchWindow: storetest.SearchWindow, Timeout: time.Minute} // a test reads 2,500 pages at once
		store, err := repository.Open(t.Context(), postgres.New(server.NewDatabase(t)), o)
		check(t, err)
		t.Cleanup(func() { check(t, store.Close()) })
		return store
	})
}

func TestStoresOnOneDatabase(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, n int) (stores []storetest.Store) {
		for _, store := range openProcesses(t, n) {
			stores = append(stores, store)
		}
		return stores
	})
}

// openProcesses opens n stores on a new database, like n processes.
func openProcesses(t *testing.T, n int) []*repository.Store {
	t.Helper()
	stores, dsn := make([]*repository.Store, n), server.NewDatabase(t)
	for i := range stores {
		stores[i] = open(t, dsn, repository.Options{})
	}
	return stores
}

// open opens a store. The store is closed when the test ends.
func open(t *testing.T, dsn string, o repository.Options) *repository.Store {
	t.Helper()
	store, err := repository.Open(t.Context(), postgres.New(dsn), o)
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
	return store
}

// openNew opens a store on a new database and returns it with its DSN.
func openNew(t *testing.T) (store *repository.Store, dsn string) {
	t.Helper()
	dsn = server.NewDatabase(t)
	return open(t, dsn, repository.Options{}), dsn
}

var (
	check  = testkit.Check
	adding = storetest.Adding
)

// openOwn starts a server on this machine and opens a store on it.
func openOwn(t *testing.T, o repository.Options) (own *postgrestest.Server, store *repository.Store, dsn string) {
	t.Helper()
	own = postgrestest.Start(t)
	dsn = own.NewDatabase(t)
	return own, open(t, dsn, o), dsn
}

// setStandby sets synchronous_standby_names of a server. Commits wait for a standby from when the checkpointer has read
// the setting, which may be later than when connections show it. Before a checkpoint, it reads the settings again.
func setStandby(t *testing.T, server *postgrestest.Server, dsn, name string) {
	t.Helper()
	check(t, server.Exec(t.Context(), "ALTER SYSTEM SET synchronous_standby_names = '"+name+"'"))
	check(t, server.Exec(t.Context(), "SELECT pg_reload_conf()"))
	testkit.WaitUntil(t, "the setting applies", func() bool {
		return queryTexts(t, dsn, "SHOW synchronous_standby_names")[0] == name
	})
	check(t, server.Exec(t.Context(), "CHECKPOINT"))
}

// beginCommit runs fn in a transaction and returns when its commit waits for a standby. It returns the
// channel of the result.
func beginCommit(t *testing.T, s *repository.Store, dsn string, fn storetest.TxFunc) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.InTx(t.Context(), fn) }()
	testkit.WaitUntil(t, "a commit waits for the standby", func() bool {
		return len(queryTexts(t, dsn, "SELECT pid::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")) == 1
	})
	return done
}

func TestServerWithoutSynchronousStandbyIsUnavailableIfOneIsRequired(t *testing.T) {
	t.Parallel()
	failures := ""
	observe := func(f engine.Failure) { failures += string(f) + " " }
	own, store, dsn := openOwn(t, repository.Options{Options: engine.Options{RequireSynchronous: true}, ObserveFailure: observe})
	check(t, open(t, dsn, repository.Options{}).InTx(t.Context(), adding("Rex")))
	wantRejected := func() {
		t.Helper()
		wantUnavailable(t, "InTx", store.InTx(t.Context(), adding("Tom")))
		err := store.Ping(t.Context())
		wantUnavailable(t, "Ping", err)
		testkit.WantMessage(t, "Ping", err, "no synchronous standby")
	}
	wantRejected()
	testkit.Equal(t, "the failures", "not_synchronous not_synchronous ", failures)
	_, err := store.Pets().Get(t.Context(), 1)
	check(t, err)                // reads still succeed
	setStandby(t, own, dsn, "*") // from now on, commits wait
	check(t, store.Ping(t.Context()))
	done := beginCommit(t, store, dsn, adding("Tom"))
	setStandby(t, own, dsn, "")
	check(t, <-done)
	wantRejected()
}

func TestCheckSynchronousReportsThatCommitsDoNotWaitOrThatNoStandbyIsConnected(t *testing.T) {
	t.Parallel()
	own := postgrestest.Start(t)
	dsn := own.NewDatabase(t)
	check(t, own.Exec(t.Context(), "CREATE ROLE shop LOGIN; GRANT ALL ON DATABASE "+databaseOf(t, dsn)+" TO shop"))
	check(t, own.Exec(t.Context(), "CREATE ROLE watching LOGIN IN ROLE shop, pg_monitor"))
	execute(t, dsn, "GRANT ALL ON SCHEMA public TO shop")
	shop := open(t, postgrestest.With(dsn, "user", "shop"), repository.Options{})
	watching := open(t, postgrestest.With(dsn, "user", "watching"), repository.Options{})
	testkit.WantMessage(t, "no standby", shop.CheckSynchronous(t.Context()), "set synchronous_standby_names")
	setStandby(t, own, dsn, "*")
	check(t, shop.CheckSynchronous(t.Context())) // this user does not see the standbys
	testkit.WantMessage(t, "no standby connected", watching.CheckSynchronous(t.Context()), "no synchronous standby is connected")
}

func execute(t *testing.T, dsn, statement string) {
	t.Helper()
	db := connect(t, dsn)
	_, err := db.ExecContext(t.Context(), statement)
	check(t, errors.Join(err, db.Close()))
}

// connect returns a pool that is closed when the test ends.
func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return db
}

func databaseOf(t *testing.T, dsn string) string {
	return queryTexts(t, dsn, "SELECT current_database()")[0]
}

func queryTexts(t *testing.T, dsn, query string) (texts []string) {
	t.Helper()
	db := connect(t, dsn)
	defer func() { check(t, db.Close()) }() // a test that waits for a condition runs many queries
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), query)
	check(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		check(t, rows.Scan(&text))
		texts = append(texts, text)
	}
	check(t, rows.Err())
	return texts
}

func wantPets(t *testing.T, s *repository.Store, want int64) {
	t.Helper()
	got, err := s.Pets().Count(t.Context(), "")
	testkit.Equal(t, "the number of pets", want, got, err)
}
