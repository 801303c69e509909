package postgres_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/storetest"
)

// server is for the tests that do not stop it.
var server *postgrestest.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.WithServer(m, &server)) }

func TestStoreContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store {
		store, _ := openNew(t)
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

// openProcesses opens n stores on a new database, as several processes have them.
func openProcesses(t *testing.T, n int) []*repository.Store {
	t.Helper()
	stores, dsn := make([]*repository.Store, n), server.NewDatabase(t)
	for i := range stores {
		stores[i] = open(t, dsn, repository.Options{Migrate: true})
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

// openNew opens a store on a new database and returns its DSN, too.
func openNew(t *testing.T) (store *repository.Store, dsn string) {
	t.Helper()
	dsn = server.NewDatabase(t)
	return open(t, dsn, repository.Options{Migrate: true}), dsn
}

var (
	check  = storetest.Check
	adding = storetest.Adding
)

// openOwn starts a server on this machine and opens a store on it.
func openOwn(t *testing.T, o repository.Options) (own *postgrestest.Server, store *repository.Store, dsn string) {
	t.Helper()
	own = postgrestest.Start(t)
	dsn, o.Migrate = own.NewDatabase(t), true
	return own, open(t, dsn, o), dsn
}

// setStandby sets synchronous_standby_names of a server.
func setStandby(t *testing.T, server *postgrestest.Server, dsn, name string) {
	t.Helper()
	check(t, server.Exec(t.Context(), "ALTER SYSTEM SET synchronous_standby_names = '"+name+"'"))
	check(t, server.Exec(t.Context(), "SELECT pg_reload_conf()"))
	storetest.WaitUntil(t, "the setting applies", func() bool {
		return queryTexts(t, dsn, "SHOW synchronous_standby_names")[0] == name
	})
}

// beginCommit runs fn in a transaction, and returns the channel of its result when its commit waits for a standby.
func beginCommit(t *testing.T, s *repository.Store, dsn string, fn storetest.TxFunc) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.InTx(t.Context(), fn) }()
	storetest.WaitUntil(t, "a commit waits for the standby", func() bool {
		return len(queryTexts(t, dsn, "SELECT pid::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")) == 1
	})
	return done
}

func TestServerWithoutSynchronousStandbyIsUnavailableIfOneIsRequired(t *testing.T) {
	t.Parallel()
	failures := ""
	own, store, dsn := openOwn(t, repository.Options{RequireSynchronous: true, ObserveFailure: func(f engine.Failure) { failures += string(f) + " " }})
	check(t, open(t, dsn, repository.Options{}).InTx(t.Context(), adding("Rex")))
	wantRejected := func() {
		t.Helper()
		wantUnavailable(t, "InTx", store.InTx(t.Context(), adding("Tom")))
		err := store.Ping(t.Context())
		wantUnavailable(t, "Ping", err)
		storetest.WantMessage(t, "Ping", err, "no synchronous standby")
	}
	wantRejected()
	storetest.Equal(t, "the failures", "not_synchronous not_synchronous ", failures)
	_, err := store.Pets().Get(t.Context(), 1)
	check(t, err)                // reads go on
	setStandby(t, own, dsn, "*") // commits wait from now on
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
	shop := open(t, postgrestest.With(dsn, "user", "shop"), repository.Options{Migrate: true})
	watching := open(t, postgrestest.With(dsn, "user", "watching"), repository.Options{})
	storetest.WantMessage(t, "no standby", shop.CheckSynchronous(t.Context()), "set synchronous_standby_names")
	setStandby(t, own, dsn, "*")
	check(t, shop.CheckSynchronous(t.Context())) // which does not see the standbys
	storetest.WantMessage(t, "no standby connected", watching.CheckSynchronous(t.Context()), "no synchronous standby is connected")
}

// Each reader uses its own store, as a process of its own does.
func TestCachesKnowOfEveryAcknowledgedCommit(t *testing.T) {
	t.Parallel()
	stores := openProcesses(t, 3)
	check(t, stores[0].InTx(t.Context(), adding("Rex")))
	statuses := []domain.PetStatus{domain.PetSold, domain.PetPending}
	for i := range 50 {
		before := versionsOf(t, stores...)
		check(t, stores[0].InTx(t.Context(), adding("Rex")))
		var inserted [][2]uint64
		for _, store := range stores { // a transaction reads the numbers of the database, too, but no cache knows of that
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
			if inserted[n][0] == before[n][0] || inserted[n][1] != before[n][1] || updated[n][0] != inserted[n][0] || updated[n][1] == inserted[n][1] {
				t.Fatalf("store %d: got %v, %v after an insert and %v after an update, want one number increased by each", n, before[n], inserted[n], updated[n])
			}
		}
	}
}

// The stores are those of two processes. A list may be five seconds old, a key one:
// three seconds tell them apart.
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
	if !usable(store) || !usable(other) { // which caches it
		t.Fatal("the new key cannot be used")
	}
	check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Revoke(ctx, 1, time.UnixMilli(1))
		return err
	}))
	revoked := time.Now()
	storetest.Equal(t, "whether the key can be used in the process that revoked it", false, usable(store))
	storetest.WaitUntil(t, "the key cannot be used in the other process", func() bool { return !usable(other) })
	if took := time.Since(revoked); took > 3*time.Second {
		t.Errorf("the other process used the key for %s, want about 1 s", took)
	}
}

// versionsOf returns the versions of stores.
func versionsOf(t *testing.T, stores ...*repository.Store) (all [][2]uint64) {
	t.Helper()
	for _, store := range stores {
		added, changed, err := store.Versions(t.Context())
		check(t, err)
		all = append(all, [2]uint64{added, changed})
	}
	return all
}

// After a failover, connections that read may be to the previous primary server. If it lost commits, the numbers of the row are
// those of other commits, so caches are stale, too.
func TestNewConnectionReplacesThoseThatRead(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, dsn, repository.Options{Migrate: true, MaxOpenConns: 1})
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
