package storecopy_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/storecopy"
	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/sqlite"
)

var server *postgrestest.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.WithServer(m, &server)) }

var check = testkit.Check

// manyPets adds enough pets for several batches, an order for each tenth pet, and the last change. It is SQL of SQLite.
const manyPets = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
	INSERT INTO pets (id, name, category_id, status) SELECT i, 'pet ' || i, 7, iif(i % 10 = 0, 'pending', '') FROM n;
	INSERT INTO orders (id, pet_id, status, created_at, updated_at) SELECT id / 10, id, 'placed', 1, 1 FROM pets WHERE status = 'pending';
	INSERT INTO categories (id, available, pending, sold, none) VALUES (7, 0, 1200, 0, 10800);
	UPDATE store SET last_pet = 12000, last_order = 1200, pending = 1200, none = 10800, position = position + 13200, altered = position,
		kept_after = position + 13199;
	INSERT INTO changes (seq, type, at, caller, records)
		SELECT position, 'order.placed', 1, 'key:1', '{"order":{"id":1200,"petId":12000,"status":"placed"}}' FROM store`

// manyRows is the number of rows of manyPets without the changes.
const manyRows = 12000 + 1200 + 1

// onePet adds a pet.
const onePet = "INSERT INTO pets (id, name, category_id) VALUES (1, 'Rex', 1); UPDATE store SET last_pet = 1"

// onSQLite reports whether a DSN is the path of a file.
func onSQLite(dsn string) bool { return filepath.IsAbs(dsn) }

func engineOf(dsn string) engine.Engine {
	if onSQLite(dsn) {
		return sqlite.New(dsn)
	}
	return postgres.New(dsn)
}

// missingFile returns the path of a file that does not exist.
func missingFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "pets.db")
}

// newFile returns the path of a new store in which statements were run.
func newFile(t *testing.T, statements ...string) string {
	t.Helper()
	return create(t, missingFile(t), statements)
}

// newDatabase returns the DSN of a new store on PostgreSQL in which statements were run.
func newDatabase(t *testing.T, statements ...string) string {
	t.Helper()
	return create(t, server.NewDatabase(t), statements)
}

func create(t *testing.T, dsn string, statements []string) string {
	t.Helper()
	check(t, open(t, dsn))
	for _, statement := range statements {
		check(t, execute(t, dsn, statement))
	}
	return dsn
}

// open opens a store, or creates it if it does not exist, and closes it.
func open(t *testing.T, dsn string) error {
	t.Helper()
	store, err := repository.Open(t.Context(), engineOf(dsn), repository.Options{})
	if err != nil {
		return err
	}
	return store.Close()
}

func openDB(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if onSQLite(dsn) {
		driver, dsn = "sqlite3", "file:"+dsn+"?mode=rw&_busy_timeout=0"
	}
	db, err := sql.Open(driver, dsn)
	check(t, err)
	return db
}

func execute(t *testing.T, dsn, statement string) error {
	t.Helper()
	db := openDB(t, dsn)
	defer func() { check(t, db.Close()) }()
	_, err := db.ExecContext(t.Context(), statement)
	return err
}

// queryText returns the single value of a query.
func queryText(t *testing.T, dsn, query string) (text string) {
	t.Helper()
	db := openDB(t, dsn)
	defer func() { check(t, db.Close()) }()
	check(t, db.QueryRowContext(t.Context(), query).Scan(&text))
	return text
}

// dump returns the records of a store on SQLite, and the numbers of the store, one row in each line.
func dump(t *testing.T, path string) string {
	t.Helper()
	columns := storecopy.CopiedColumns()
	columns["store"] = engine.StateColumns
	return dumpOf(t, path, columns)
}

// dumpOf is dump for some columns.
func dumpOf(t *testing.T, path string, columns map[string]string) string {
	t.Helper()
	lines := []string{"SELECT 'unfinished ' || count(*) AS line FROM unfinished_copy"}
	for table, names := range columns {
		values := "quote(" + strings.ReplaceAll(names, ", ", ") || ' ' || quote(") + ")"
		lines = append(lines, "SELECT '"+table+" ' || "+values+" FROM "+table)
	}
	return queryText(t, path, "SELECT group_concat(line, char(10)) FROM ("+strings.Join(lines, " UNION ALL ")+" ORDER BY line)")
}

// wantSame expects the same records and numbers in two stores on SQLite.
func wantSame(t *testing.T, from, to string) {
	t.Helper()
	testkit.Equal(t, "(-source +target)", dump(t, from), dump(t, to))
}

// wantSameButChanges is wantSame for the copy of a snapshot, which has no changes.
func wantSameButChanges(t *testing.T, from, to string) {
	t.Helper()
	columns := storecopy.CopiedColumns()
	delete(columns, "changes")
	columns["store"] = "last_pet, last_order, last_key, available, pending, sold, none"
	testkit.Equal(t, "(-source +target)", dumpOf(t, from, columns), dumpOf(t, to, columns))
}

// wantText expects that the text of the error is exactly this.
func wantText(t *testing.T, err error, format string, args ...any) {
	t.Helper()
	testkit.Equal(t, "the error", fmt.Sprintf(format, args...), fmt.Sprint(err))
}

func ignore(int) {}

// atFirstRows returns a function that Copy calls for the copied rows. The first call calls fn. If Copy copies no
// rows, the test fails.
func atFirstRows(t *testing.T, fn func()) func(int) {
	t.Helper()
	called := false
	t.Cleanup(func() {
		if !called {
			t.Error("nothing was copied")
		}
	})
	return func(int) {
		if !called {
			called = true
			fn()
		}
	}
}

func copyStore(t *testing.T, from, to string, onRows func(n int)) (storecopy.Result, error) {
	t.Helper()
	return storecopy.Copy(t.Context(), engineOf(from), engineOf(to), options(false, onRows))
}

func copySnapshot(t *testing.T, from, to string, onRows func(n int)) (storecopy.Result, error) {
	t.Helper()
	return storecopy.Copy(t.Context(), engineOf(from), engineOf(to), options(true, onRows))
}

func options(snapshot bool, onRows func(n int)) storecopy.Options {
	return storecopy.Options{Snapshot: snapshot, Progress: func(string, int) func(int) { return onRows }}
}

// rowsOf returns the number of rows that were copied.
func rowsOf(result storecopy.Result) (rows int64) {
	for _, table := range result.Tables {
		rows += table.Rows
	}
	return rows
}

func TestCopyDoesNotMigrateExistingStores(t *testing.T) {
	t.Parallel()
	for name, opening := range map[string]string{"from": "open the source", "to": "open the target"} {
		for change, want := range map[string]string{
			"DELETE FROM petstore_schema_version WHERE version_id > 0": fmt.Sprintf(
				"wrong schema version: the store has 0, this program needs %d: run petstore migrate up", engine.SchemaVersion),
			"UPDATE petstore_schema_version SET version_id = 8 WHERE version_id > 0": engine.ErrEarlySchema.Error(),
		} {
			paths := map[string]string{"from": newFile(t), "to": newFile(t)}
			check(t, execute(t, paths[name], change))
			_, err := copyStore(t, paths["from"], paths["to"], ignore)
			wantText(t, err, "%s %s: %s", opening, paths[name], want)
		}
	}
}

func TestCopyRejectsStoresThatAreInUse(t *testing.T) {
	t.Parallel()
	dsn, other := newDatabase(t, onePet), server.NewDatabase(t)
	store, err := repository.Open(t.Context(), engineOf(dsn), repository.Options{})
	check(t, err)
	defer func() { check(t, store.Close()) }()
	const inUse = "a process has it open: stop the service and all petstore commands, then try again"
	_, err = copyStore(t, dsn, other, ignore)
	wantText(t, err, "open the source %s: %s, or add --snapshot to copy it as it is now, without later changes", engineOf(dsn), inUse)
	testkit.WantError(t, "Copy", err, engine.ErrInUse)
	_, err = copySnapshot(t, newFile(t), dsn, ignore)
	wantText(t, err, "open the target %s: %s", engineOf(dsn), inUse)
	result, err := copySnapshot(t, dsn, other, ignore)
	testkit.Equal(t, "the rows of a snapshot", int64(1), rowsOf(result), err)
}

func TestOthersCannotUseAStoreThatIsCopied(t *testing.T) {
	t.Parallel()
	file, database, back := newFile(t, manyPets), server.NewDatabase(t), missingFile(t)
	for _, stores := range [][2]string{{file, database}, {database, back}} {
		_, err := copyStore(t, stores[0], stores[1], atFirstRows(t, func() {
			for _, dsn := range stores {
				if onSQLite(dsn) { // Open waits longer
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					_, err := repository.Open(ctx, engineOf(dsn), repository.Options{})
					cancel()
					testkit.WantError(t, dsn, err, context.DeadlineExceeded)
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
					INSERT INTO pets (id, name, category_id) VALUES (12001, 'new', 1); UPDATE store SET last_pet = 12001`))
			}))
			testkit.Equal(t, "the rows", int64(manyRows), rowsOf(result), err)
			wantSameButChanges(t, original, target)
		})
	}
}

// While the target is read, which can take minutes, the transaction of a snapshot is idle.
func TestSnapshotIsKeptWhileTheTargetIsRead(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Millisecond
	dsn := newDatabase(t, onePet)
	const set = "ALTER DATABASE %s SET idle_in_transaction_session_timeout = %d"
	check(t, execute(t, dsn, fmt.Sprintf(set, queryText(t, dsn, "SELECT current_database()"), timeout.Milliseconds())))
	_, err := copySnapshot(t, dsn, missingFile(t), func(int) { time.Sleep(10 * timeout) })
	check(t, err)
}

func TestCopyConnectsAgain(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	result, err := copyStore(t, newFile(t, manyPets), dsn, atFirstRows(t, func() {
		check(t, execute(t, dsn, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`))
	}))
	testkit.Equal(t, "the rows", int64(manyRows+1), rowsOf(result), err)
}

// A suspended petstore, for example after Ctrl-Z, does not read what the server sends.
func TestSuspendedCopyContinues(t *testing.T) {
	t.Parallel()
	// The server listens on port 5432. The address is random, because the port may be in use on other addresses.
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	own := postgrestest.Start(t, "listen_addresses="+address)
	socket := create(t, own.NewDatabase(t),
		[]string{"INSERT INTO pets (id, name, category_id) SELECT i, repeat('x', 200), 1 FROM generate_series(1, 100000) AS i"})
	from := postgrestest.With(postgrestest.With(socket, "host", address), "tcp_user_timeout", "100")
	_, err := copyStore(t, from, missingFile(t), atFirstRows(t, func() {
		const waiting = "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'petstore' AND wait_event = 'ClientWrite'"
		testkit.WaitUntil(t, "the server waits for petstore", func() bool { return queryText(t, socket, waiting) == "1" })
		<-time.After(2 * time.Second) // the server would close the connection after 100 ms
	}))
	check(t, err)
}

// The server is stopped after the pets and some of their orders were copied.
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
		testkit.Equal(t, "the rows", int64(manyRows+1), rowsOf(result), err)
	}
}
