package storecopy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storetest"
)

// A user that may add rows, but not set the ids, is rejected before the first row is copied.
func TestCopyNeedsTheOwnerOfTheTarget(t *testing.T) {
	t.Parallel()
	dsn := newDatabase(t)
	user := queryText(t, dsn, "SELECT current_database()") + "_user"
	executeOn(t, dsn, "CREATE ROLE "+user+" LOGIN", "GRANT USAGE ON SCHEMA public TO "+user,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+user, "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "+user)
	_, err := copyStore(t.Context(), sqlite.New(newFile(t, manyPets)), postgres.New(postgrestest.With(dsn, "user", user)), false, func(int) { t.Error("a row was copied") })
	storetest.WantMessage(t, "the error", err, "which the owner of the table may do")
	create(t, postgres.New(dsn)) // it is no unfinished copy
}

// PostgreSQL does not roll back what sets the ids.
func TestRejectedTargetKeepsItsIDs(t *testing.T) {
	t.Parallel()
	dsn := newDatabase(t, "INSERT INTO pets (name, category_id) SELECT 'pet', 1 FROM generate_series(1, 10)", "DELETE FROM pets",
		"INSERT INTO imports VALUES (sha256(''), 0, 0, 1)")
	_, err := copyStore(t.Context(), sqlite.New(newFile(t, manyPets)), postgres.New(dsn), false, ignore)
	storetest.WantMessage(t, "Copy", err, "it is not empty")
	storetest.Equal(t, "the id", "11", queryText(t, dsn, "INSERT INTO pets (name, category_id) VALUES ('Rex', 1) RETURNING id"))
}

// The values come back as they were, with the ids that were deleted.
func TestCopyToPostgresAndBackKeepsValuesAtTheLimits(t *testing.T) {
	t.Parallel()
	limits, err := os.ReadFile("testdata/limits.sql")
	check(t, err)
	from, between, to := sqlite.New(newFile(t, string(limits))), postgres.New(server.NewDatabase(t)), sqlite.New(filepath.Join(t.TempDir(), "back.db"))
	there, err := copyStore(t.Context(), from, between, false, ignore)
	check(t, err)
	back, err := copyStore(t.Context(), between, to, false, ignore)
	check(t, err)
	storetest.Equal(t, "what was copied back", there, back)
	if rowsOf(there) != 19 || len(there.Tables) != 5 {
		t.Errorf("got %+v, want 19 rows of 5 tables", there)
	}
	for _, e := range []engine.Engine{from, between, to} {
		store, err := repository.Open(t.Context(), e, repository.Options{})
		check(t, err)
		check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			pet, err := r.Pets.Create(ctx, domain.NewPet{Name: "the last id"})
			if err != nil {
				return err
			}
			order, err := r.Orders.Create(ctx, pet.ID, time.UnixMilli(1))
			if pet.ID != 1<<63-1 || order.ID != 101 {
				t.Errorf("%s: got the pet %d and the order %d, want the last id and 101", e, pet.ID, order.ID)
			}
			return err
		}))
		check(t, store.Close())
	}
}

func TestCopyRejectsStoresThatAreInUse(t *testing.T) {
	t.Parallel()
	dsn, other := newDatabase(t, "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)"), server.NewDatabase(t)
	store, err := repository.Open(t.Context(), postgres.New(dsn), repository.Options{})
	check(t, err)
	defer func() { check(t, store.Close()) }()
	const inUse = "a process has it open: stop the service and all petstore commands, then try again"
	_, err = copyStore(t.Context(), postgres.New(dsn), postgres.New(other), false, ignore)
	wantText(t, err, "open the source %s: %s, or add --snapshot to copy it as it is now, without later changes", postgres.New(dsn), inUse)
	storetest.WantError(t, "Copy", err, engine.ErrInUse)
	_, err = copyStore(t.Context(), sqlite.New(newFile(t)), postgres.New(dsn), true, ignore)
	wantText(t, err, "open the target %s: %s", postgres.New(dsn), inUse)
	result, err := copyStore(t.Context(), postgres.New(dsn), postgres.New(other), true, ignore)
	storetest.Equal(t, "the rows of a snapshot", int64(1), rowsOf(result), err)
}

func TestStoreThatIsCopiedCannotBeWritten(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	_, err := copyStore(t.Context(), sqlite.New(newFile(t, manyPets)), postgres.New(dsn), false, ignore)
	check(t, err)
	_, err = copyStore(t.Context(), postgres.New(dsn), sqlite.New(filepath.Join(t.TempDir(), "copy.db")), false, atFirstRows(t, func() {
		_, err := repository.Open(t.Context(), postgres.New(dsn), repository.Options{})
		wantText(t, err, "open the store %s: petstore copy is copying the store or copies to it: try again when that has ended", postgres.New(dsn))
	}))
	check(t, err)
}

// Writers place orders, which change a pet and add an order in one transaction.
func TestSnapshotOfServedStoreIsConsistent(t *testing.T) {
	t.Parallel()
	from := postgres.New(server.NewDatabase(t))
	_, err := copyStore(t.Context(), sqlite.New(newFile(t, manyPets)), from, false, ignore)
	check(t, err)
	store, err := repository.Open(t.Context(), from, repository.Options{})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done, placed := make(chan error, 1), make(chan struct{}, 1000)
	go func() {
		var err error
		for id := int64(1); err == nil && ctx.Err() == nil && id < 12000; id++ {
			if id%10 == 0 {
				continue
			}
			err = store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
				_, err := r.Orders.Create(ctx, id, time.UnixMilli(1))
				if err == nil {
					_, err = r.Pets.ChangeStatusIf(ctx, id, []domain.PetStatus{""}, domain.PetPending)
				}
				return err
			})
			select {
			case placed <- struct{}{}:
			default:
			}
		}
		done <- err
	}()
	for range 3 {
		<-placed
		path := filepath.Join(t.TempDir(), "copy.db")
		_, err := copyStore(t.Context(), from, sqlite.New(path), true, ignore)
		check(t, err)
		db := openFile(t, path)
		var orders, pending, both int
		check(t, db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM pets WHERE status = 'pending'),
			(SELECT count(*) FROM pets JOIN orders ON pet_id = pets.id WHERE pets.status = 'pending')`).Scan(&orders, &pending, &both))
		check(t, db.Close())
		if orders != pending || orders != both || orders < 1201 {
			t.Errorf("got %d orders, %d pending pets and %d with both, want the same number, at least 1201", orders, pending, both)
		}
	}
	cancel()
	check(t, errors.Join(<-done, store.Close()))
}

// The transaction of a snapshot is idle while the target is read, which can take minutes.
func TestSnapshotIsKeptWhileTheTargetIsRead(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Millisecond
	dsn := newDatabase(t, "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)")
	executeOn(t, dsn, fmt.Sprintf("ALTER DATABASE %s SET idle_in_transaction_session_timeout = %d", queryText(t, dsn, "SELECT current_database()"), timeout.Milliseconds()))
	to := sqlite.New(filepath.Join(t.TempDir(), "copy.db"))
	_, err := copyStore(t.Context(), postgres.New(dsn), to, true, func(int) { time.Sleep(10 * timeout) })
	check(t, err)
}

func TestCopyConnectsAgain(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	result, err := copyStore(t.Context(), sqlite.New(newFile(t, manyPets)), postgres.New(dsn), false, atFirstRows(t, func() {
		executeOn(t, dsn, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	}))
	storetest.Equal(t, "the rows", int64(13200), rowsOf(result), err)
}

// While petstore is suspended, as by Ctrl-Z, it does not read what the server sends.
func TestSuspendedCopyContinues(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)) // port 5432 of others is used
	own := postgrestest.Start(t, "listen_addresses="+address)
	socket := own.NewDatabase(t)
	create(t, postgres.New(socket))
	executeOn(t, socket, "INSERT INTO pets (name, category_id) SELECT repeat('x', 200), 1 FROM generate_series(1, 100000)")
	from := postgres.New(postgrestest.With(postgrestest.With(socket, "host", address), "tcp_user_timeout", "100"))
	_, err := copyStore(t.Context(), from, sqlite.New(filepath.Join(t.TempDir(), "copy.db")), false, atFirstRows(t, func() {
		const waiting = "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'petstore' AND wait_event = 'ClientWrite'"
		storetest.WaitUntil(t, "the server waits for petstore", func() bool { return queryText(t, socket, waiting) == "1" })
		<-time.After(2 * time.Second) // the server would close the connection after 100 ms
	}))
	check(t, err)
}

func TestCopyBeginsAnewAfterTheServerWasStopped(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	from, to := sqlite.New(newFile(t, manyPets)), postgres.New(server.NewDatabase(t))
	stopAndCopyAgain(t, server, from, to)
	stopAndCopyAgain(t, server, to, sqlite.New(filepath.Join(t.TempDir(), "copy.db")))
}

// stopAndCopyAgain stops the server after a copy of the pets and of some orders, which refer to them,
// and copies again when the server was started.
func stopAndCopyAgain(t *testing.T, server *postgrestest.Server, from, to engine.Engine) {
	t.Helper()
	rows := 0
	result, err := copyStore(t.Context(), from, to, false, func(n int) {
		if rows += n; rows > 12000 {
			check(t, server.Stop())
		}
	})
	if err == nil || strings.Contains(err.Error(), "\n") || !result.Started || len(result.Tables) > 0 {
		t.Errorf("got %+v and %v, want a copy that failed, in one line", result, err)
	}
	check(t, server.Start())
	wantUnfinished(t, from, to)
	result, err = copyStore(t.Context(), from, to, false, ignore)
	storetest.Equal(t, "the rows", int64(13200), rowsOf(result), err)
}
