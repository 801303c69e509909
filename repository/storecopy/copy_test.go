package storecopy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/storetest"
)

func TestCopyDoesNotMigrateExistingStores(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"from": "open the source", "to": "open the target"} {
		paths := map[string]string{"from": newFile(t), "to": newFile(t)}
		check(t, execute(t, paths[name], "DELETE FROM goose_db_version WHERE version_id > 3"))
		_, err := copyStore(t, paths["from"], paths["to"], ignore)
		wantText(t, err, "%s %s: wrong schema version: the store has 3, this program needs 5: run petstore migrate up", want, paths[name])
	}
}

func TestCopyRejectsStoresThatAreInUse(t *testing.T) {
	t.Parallel()
	dsn, other := newDatabase(t, "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)"), server.NewDatabase(t)
	store, err := repository.Open(t.Context(), engineOf(dsn), repository.Options{})
	check(t, err)
	defer func() { check(t, store.Close()) }()
	const inUse = "a process has it open: stop the service and all petstore commands, then try again"
	_, err = copyStore(t, dsn, other, ignore)
	wantText(t, err, "open the source %s: %s, or add --snapshot to copy it as it is now, without later changes", engineOf(dsn), inUse)
	storetest.WantError(t, "Copy", err, engine.ErrInUse)
	_, err = copySnapshot(t, newFile(t), dsn, ignore)
	wantText(t, err, "open the target %s: %s", engineOf(dsn), inUse)
	result, err := copySnapshot(t, dsn, other, ignore)
	storetest.Equal(t, "the rows of a snapshot", int64(1), rowsOf(result), err)
}

func TestOthersCannotUseAStoreThatIsCopied(t *testing.T) {
	t.Parallel()
	file, database, back := newFile(t, manyPets), server.NewDatabase(t), missingFile(t)
	for _, stores := range [][2]string{{file, database}, {database, back}} {
		_, err := copyStore(t, stores[0], stores[1], atFirstRows(t, func() {
			for _, dsn := range stores {
				if onSQLite(dsn) {
					storetest.WantMessage(t, dsn, execute(t, dsn, "DELETE FROM orders"), "locked")
					continue
				}
				const want = "open the store %s: petstore copy is copying the store or copies to it: try again when that has ended"
				wantText(t, open(t, dsn), want, engineOf(dsn))
			}
		}))
		check(t, err)
	}
	wantSame(t, file, back)
}

func TestSnapshotIsOneStateOfTheSource(t *testing.T) {
	t.Parallel()
	for name, newStore := range map[string]func(*testing.T) string{
		"SQLite":     missingFile,
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return server.NewDatabase(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original, source, target := newFile(t, manyPets), newStore(t), missingFile(t)
			_, err := copyStore(t, original, source, ignore)
			check(t, err)
			result, err := copySnapshot(t, source, target, atFirstRows(t, func() {
				check(t, execute(t, source, `UPDATE orders SET status = 'delivered'; UPDATE pets SET status = 'sold' WHERE status = 'pending';
					INSERT INTO pets (name, category_id) VALUES ('new', 1)`))
			}))
			storetest.Equal(t, "the rows", int64(13200), rowsOf(result), err)
			wantSame(t, original, target)
		})
	}
}

// The transaction of a snapshot is idle while the target is read, which can take minutes.
func TestSnapshotIsKeptWhileTheTargetIsRead(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Millisecond
	dsn := newDatabase(t, "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)")
	const set = "ALTER DATABASE %s SET idle_in_transaction_session_timeout = %d"
	check(t, execute(t, dsn, fmt.Sprintf(set, queryText(t, dsn, "SELECT current_database()"), timeout.Milliseconds())))
	_, err := copySnapshot(t, dsn, missingFile(t), func(int) { time.Sleep(10 * timeout) })
	check(t, err)
}

func TestCopyConnectsAgain(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	result, err := copyStore(t, newFile(t, manyPets), dsn, atFirstRows(t, func() {
		check(t, execute(t, dsn, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"))
	}))
	storetest.Equal(t, "the rows", int64(13200), rowsOf(result), err)
}

// While petstore is suspended, as by Ctrl-Z, it does not read what the server sends.
func TestSuspendedCopyContinues(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)) // port 5432 of others is used
	own := postgrestest.Start(t, "listen_addresses="+address)
	socket := create(t, own.NewDatabase(t), []string{"INSERT INTO pets (name, category_id) SELECT repeat('x', 200), 1 FROM generate_series(1, 100000)"})
	from := postgrestest.With(postgrestest.With(socket, "host", address), "tcp_user_timeout", "100")
	_, err := copyStore(t, from, missingFile(t), atFirstRows(t, func() {
		const waiting = "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'petstore' AND wait_event = 'ClientWrite'"
		storetest.WaitUntil(t, "the server waits for petstore", func() bool { return queryText(t, socket, waiting) == "1" })
		<-time.After(2 * time.Second) // the server would close the connection after 100 ms
	}))
	check(t, err)
}

// The server is stopped after a copy of the pets and of some orders, which refer to them.
func TestCopyBeginsAnewAfterTheServerWasStopped(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	file, database := newFile(t, manyPets), server.NewDatabase(t)
	for _, stores := range [][2]string{{file, database}, {database, missingFile(t)}} {
		from, to, rows := stores[0], stores[1], 0
		result, err := copyStore(t, from, to, func(n int) {
			if rows += n; rows > 12000 {
				check(t, server.Stop())
			}
		})
		if err == nil || strings.Contains(err.Error(), "\n") || !result.Started || len(result.Tables) > 0 {
			t.Errorf("got %+v and %v, want a copy that failed, in one line", result, err)
		}
		check(t, server.Start())
		wantText(t, open(t, to), "open the store"+beginsAnew, engineOf(to), engineOf(from))
		result, err = copyStore(t, from, to, ignore)
		storetest.Equal(t, "the rows", int64(13200), rowsOf(result), err)
	}
}
