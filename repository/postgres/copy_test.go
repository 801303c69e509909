//go:build postgres

package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/sqlite"
)

func copyStore(ctx context.Context, from, to repository.Engine, snapshot bool, onRows func(n int)) (repository.CopyResult, error) {
	return repository.Copy(ctx, from, to, repository.CopyOptions{
		Snapshot: snapshot,
		Progress: func(string, int) func(int) { return onRows },
	})
}

func ignore(int) {}

// newFile returns the engine of a new SQLite store after statements.
func newFile(t *testing.T, statements string) repository.Engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets.db")
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	check(t, err)
	check(t, store.Close())
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	_, err = db.ExecContext(t.Context(), statements)
	check(t, errors.Join(err, db.Close()))
	return sqlite.New(path)
}

// manyPets adds pets for some batches, and an order for each tenth.
const manyPets = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
	INSERT INTO pets (name, category_id, status) SELECT 'pet ' || i, i, iif(i % 10 = 0, 'pending', NULL) FROM n;
	INSERT INTO orders (pet_id, status, created_at, updated_at) SELECT id, 'placed', 1, 1 FROM pets WHERE status = 'pending'`

// A user that may add rows, but not set the ids, is rejected before the first row is copied.
func TestCopyNeedsTheOwnerOfTheTarget(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	user := createStoreAndUser(t, dsn)
	execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "+user)(t, dsn)
	_, err := copyStore(t.Context(), newFile(t, manyPets), postgres.New(postgrestest.With(dsn, "user", user)), false, func(int) { t.Error("a row was copied") })
	if err == nil || !strings.Contains(err.Error(), "which the owner of the table may do") {
		t.Errorf("got %v, want that the user is not the owner", err)
	}
	open(t, dsn, repository.Options{}) // it is no unfinished copy
}

// The values come back as they were, with the ids that were deleted.
func TestCopyToPostgresAndBackKeepsValuesAtTheLimits(t *testing.T) {
	t.Parallel()
	limits, err := os.ReadFile("../testdata/limits.sql")
	check(t, err)
	from, between, to := newFile(t, string(limits)), postgres.New(server.NewDatabase(t)), sqlite.New(filepath.Join(t.TempDir(), "back.db"))
	there, err := copyStore(t.Context(), from, between, false, ignore)
	check(t, err)
	back, err := copyStore(t.Context(), between, to, false, ignore)
	check(t, err)
	if diff := cmp.Diff(there, back); diff != "" || there.Rows != 19 || len(there.Tables) != 5 {
		t.Errorf("got %d rows, want 19 of 5 tables (-there +back)\n%s", there.Rows, diff)
	}
	for _, engine := range []repository.Engine{from, between, to} {
		store, err := repository.Open(t.Context(), engine, repository.Options{})
		check(t, err)
		check(t, store.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
			pet, err := r.Pets.Create(ctx, domain.NewPet{Name: "the last id"})
			if err != nil {
				return err
			}
			order, err := r.Orders.Create(ctx, pet.ID, time.UnixMilli(1))
			if pet.ID != 1<<63-1 || order.ID != 101 {
				t.Errorf("%s: got the pet %d and the order %d, want the last id and 101", engine, pet.ID, order.ID)
			}
			return err
		}))
		check(t, store.Close())
	}
}

func TestInterruptedCopyContinues(t *testing.T) {
	t.Parallel()
	for name, direction := range map[string]func(t *testing.T) (from, to repository.Engine){
		"to PostgreSQL": func(t *testing.T) (from, to repository.Engine) {
			return newFile(t, manyPets), postgres.New(server.NewDatabase(t))
		},
		"from PostgreSQL": func(t *testing.T) (from, to repository.Engine) {
			from = postgres.New(server.NewDatabase(t))
			_, err := copyStore(t.Context(), newFile(t, manyPets), from, false, ignore)
			check(t, err)
			return from, sqlite.New(filepath.Join(t.TempDir(), "copy.db"))
		},
	} {
		for _, changed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, changed %t", name, changed), func(t *testing.T) {
				t.Parallel()
				from, to := direction(t)
				interruptCopy(t, from, to)
				if _, err := repository.Open(t.Context(), to, repository.Options{}); err == nil || !strings.Contains(err.Error(), "it is an unfinished copy of "+from.String()) {
					t.Errorf("open: got %v, want that it is unfinished", err)
				}
				if changed {
					setSold(t, from, 1)
				}
				result, err := copyStore(t.Context(), from, to, false, ignore)
				if err != nil || result.Restarted != changed || result.Earlier > 0 == changed || result.Copied != 13200 {
					t.Errorf("got %+v and %v, want 13200 rows", result, err)
				}
				store, err := repository.Open(t.Context(), to, repository.Options{})
				check(t, err)
				check(t, store.Close())
			})
		}
	}
}

// interruptCopy interrupts a copy after the first batch.
func interruptCopy(t *testing.T, from, to repository.Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result, err := copyStore(ctx, from, to, false, func(int) { cancel() })
	if err == nil || result.Copied == 0 || result.Copied == result.Rows {
		t.Fatalf("got %+v and %v, want a copy that is interrupted", result, err)
	}
}

func setSold(t *testing.T, engine repository.Engine, id int64) {
	t.Helper()
	store, err := repository.Open(t.Context(), engine, repository.Options{})
	check(t, err)
	check(t, store.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Move(ctx, id, []domain.PetStatus{""}, domain.PetSold)
		return err
	}))
	check(t, store.Close())
}

func TestCopyRejectsStoresThatAreInUse(t *testing.T) {
	t.Parallel()
	dsn, other := server.NewDatabase(t), server.NewDatabase(t)
	store := open(t, dsn, repository.Options{Migrate: true})
	check(t, store.InTx(t.Context(), adding("Rex")))
	const inUse = "a process has it open: stop the service and all petstore commands, then try again"
	_, err := copyStore(t.Context(), postgres.New(dsn), postgres.New(other), false, ignore)
	if want := inUse + ", or add --snapshot to copy it as it is now, without later changes"; err == nil || !strings.HasSuffix(err.Error(), want) || !errors.Is(err, repository.ErrInUse) {
		t.Errorf("source: got %v, want %s", err, want)
	}
	_, err = copyStore(t.Context(), newFile(t, ""), postgres.New(dsn), true, ignore)
	if err == nil || !strings.HasSuffix(err.Error(), inUse) {
		t.Errorf("target: got %v, want %s", err, inUse)
	}
	if result, err := copyStore(t.Context(), postgres.New(dsn), postgres.New(other), true, ignore); err != nil || result.Rows != 1 {
		t.Errorf("snapshot: got %+v and %v, want one row", result, err)
	}
}

func TestStoreThatIsCopiedCannotBeWritten(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	_, err := copyStore(t.Context(), newFile(t, manyPets), postgres.New(dsn), false, ignore)
	check(t, err)
	tried := false
	_, err = copyStore(t.Context(), postgres.New(dsn), sqlite.New(filepath.Join(t.TempDir(), "copy.db")), false, func(int) {
		if tried {
			return
		}
		tried = true
		_, err := repository.Open(t.Context(), postgres.New(dsn), repository.Options{})
		if err == nil || !strings.HasSuffix(err.Error(), "petstore copy is copying the store or copies to it: try again when that has ended") {
			t.Errorf("got %v, want that the store is copied", err)
		}
	})
	check(t, err)
	if !tried {
		t.Error("nothing was copied")
	}
}

// Writers place orders, which change a pet and add an order in one transaction.
func TestSnapshotOfServedStoreIsConsistent(t *testing.T) {
	t.Parallel()
	from := postgres.New(server.NewDatabase(t))
	_, err := copyStore(t.Context(), newFile(t, manyPets), from, false, ignore)
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
			err = store.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
				_, err := r.Orders.Create(ctx, id, time.UnixMilli(1))
				if err == nil {
					_, err = r.Pets.Move(ctx, id, []domain.PetStatus{""}, domain.PetPending)
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
		db, err := sql.Open("sqlite3", path)
		check(t, err)
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
	dsn := server.NewDatabase(t)
	check(t, open(t, dsn, repository.Options{Migrate: true}).InTx(t.Context(), adding("Rex")))
	execute(fmt.Sprintf("ALTER DATABASE %s SET idle_in_transaction_session_timeout = %d", databaseOf(t, dsn), timeout.Milliseconds()))(t, dsn)
	to := sqlite.New(filepath.Join(t.TempDir(), "copy.db"))
	_, err := copyStore(t.Context(), postgres.New(dsn), to, true, func(int) { time.Sleep(10 * timeout) })
	check(t, err)
}

func TestCopyConnectsAgain(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	db, err := sql.Open("pgx", dsn)
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	ended := false
	result, err := copyStore(t.Context(), newFile(t, manyPets), postgres.New(dsn), false, func(int) {
		if !ended {
			_, err := db.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			check(t, err)
		}
		ended = true
	})
	if err != nil || !ended || result.Copied != 13200 {
		t.Errorf("got %+v and %v, want 13200 rows", result, err)
	}
}

// While petstore is suspended, as by Ctrl-Z, it does not read what the server sends.
func TestSuspendedCopyContinues(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)) // port 5432 of others is used
	own := postgrestest.Start(t, "listen_addresses="+address)
	socket := own.NewDatabase(t)
	check(t, open(t, socket, repository.Options{Migrate: true}).Close())
	execute("INSERT INTO pets (name, category_id) SELECT repeat('x', 200), 1 FROM generate_series(1, 100000)")(t, socket)
	from := postgres.New(postgrestest.With(postgrestest.With(socket, "host", address), "tcp_user_timeout", "100"))
	suspended := false
	_, err := copyStore(t.Context(), from, sqlite.New(filepath.Join(t.TempDir(), "copy.db")), false, func(int) {
		if suspended {
			return
		}
		suspended = true
		waitUntil(t, "the server waits for petstore", func() bool {
			return len(queryTexts(t, socket, "SELECT pid::text FROM pg_stat_activity WHERE application_name = 'petstore' AND wait_event = 'ClientWrite'")) == 1
		})
		<-time.After(2 * time.Second) // the server would close the connection after 100 ms
	})
	check(t, err)
}

func TestCopyContinuesAfterTheServerWasStopped(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	from, to := newFile(t, manyPets), postgres.New(server.NewDatabase(t))
	stopAndContinue(t, server, from, to)
	stopAndContinue(t, server, to, sqlite.New(filepath.Join(t.TempDir(), "copy.db")))
}

// stopAndContinue stops the server after a batch of a copy, and copies again when the server
// was started.
func stopAndContinue(t *testing.T, server *postgrestest.Server, from, to repository.Engine) {
	t.Helper()
	stopped := false
	result, err := copyStore(t.Context(), from, to, false, func(int) {
		if !stopped {
			check(t, server.Stop())
		}
		stopped = true
	})
	if err == nil || strings.Contains(err.Error(), "\n") || result.Copied == 0 || result.Copied == result.Rows {
		t.Errorf("got %+v and %v, want a copy that failed, in one line", result, err)
	}
	check(t, server.Start())
	again, err := copyStore(t.Context(), from, to, false, ignore)
	if err != nil || again.Restarted || again.Earlier != result.Copied || again.Copied != 13200 {
		t.Errorf("got %+v and %v, want 13200 rows after the %d of before", again, err, result.Copied)
	}
}
