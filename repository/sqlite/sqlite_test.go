//go:build cgo

package sqlite_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"
	"go.uber.org/goleak"

	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/sqlite/internal/storefile"
	"example.com/petstore/repository/storetest"
)

var check = storetest.Check

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStoresOnOneFile(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, n int) []storetest.Store {
		stores, path := make([]storetest.Store, n), sqlitetest.NewPath(t)
		for i := range stores {
			stores[i] = sqlitetest.Open(t, path)
		}
		return stores
	})
}

func TestOpenRejectsOtherFilesUnchanged(t *testing.T) {
	t.Parallel()
	migrate := repository.Options{Migrate: true}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		options repository.Options
		want    string
	}{
		"text":                 {sqlitetest.WriteFile("not a database, but long enough to have a header of one hundred bytes" + strings.Repeat(".", 100)), migrate, "is not a SQLite database"},
		"another program's":    {sqlitetest.Execute("CREATE TABLE Orders (text)"), migrate, "another program has a table Orders in it"},
		"another program's id": {sqlitetest.Execute("PRAGMA application_id = 7"), migrate, "database of another program"},
		"folder":               {func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) }, migrate, "not a regular file"},
		"newer":                {sqlitetest.Newer, migrate, "use a newer petstore"},
		"newer, restored": {func(t *testing.T, path string) {
			sqlitetest.Newer(t, path)
			sqlitetest.Execute("PRAGMA journal_mode = DELETE")(t, path) // as VACUUM INTO writes a backup
		}, migrate, "use a newer petstore"},
		"old": {func(t *testing.T, path string) {
			sqlitetest.Newer(t, path)
			sqlitetest.Execute("DELETE FROM petstore_schema_version WHERE version_id > 0")(t, path)
		}, repository.Options{}, "run petstore migrate up"},
		"missing":                    {func(*testing.T, string) {}, repository.Options{}, "run petstore migrate up"},
		"missing, but it must exist": {func(*testing.T, string) {}, repository.Options{Migrate: true, MustExist: true}, "there is no such file"},
		"empty":                      {sqlitetest.WriteFile(""), repository.Options{}, "run petstore migrate up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewPath(t)
			test.prepare(t, path)
			wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
			_, err := repository.Open(t.Context(), sqlite.New(path), test.options)
			storetest.WantMessage(t, "the error", err, test.want, path)
			wantUnchanged()
		})
	}
}

func TestPathIsUsedLiterallyAndCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a b?c=d&e#f%20é")
	check(t, os.Mkdir(folder, 0o700))
	store := sqlitetest.Open(t, filepath.Join(folder, "pets.db"))
	check(t, store.InTx(t.Context(), storetest.Adding("Rex")))
	_, err := store.Pets().Get(t.Context(), 1)
	check(t, err)
	check(t, store.Close())
	entries, err := os.ReadDir(folder)
	check(t, err)
	storetest.Equal(t, "the files", "[- pets.db]", fmt.Sprint(entries))
}

// If all commits are in the file already, SQLite removes the WAL without writing to the file.
func TestCloseMayBeCalledAgainAfterACheckpoint(t *testing.T) {
	t.Parallel()
	store, path := sqlitetest.OpenWithPet(t)
	sqlitetest.Execute("PRAGMA wal_checkpoint(PASSIVE)")(t, path)
	for range 2 {
		check(t, store.Close())
	}
}

func TestConcurrentOpensCreateOneStore(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewPath(t)
	created := storetest.Concurrently(t, 8, func(int) (bool, error) {
		store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
		if err != nil {
			return false, err
		}
		return store.Schema().Created, errors.Join(store.InTx(t.Context(), storetest.Adding("Rex")), store.Close())
	})
	storetest.Equal(t, "how many stores were created", 1, created)
	sqlitetest.WantPets(t, path, 8)
}

// The WAL may have commits that no backup has.
func TestOpenLeavesDamagedFileAndItsWAL(t *testing.T) {
	t.Parallel()
	overwritten := func(name string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { sqlitetest.OverwritePage(t, path, name) }
	}
	truncated := func(size int64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { check(t, os.Truncate(path, size)) }
	}
	for name, test := range map[string]struct {
		statements string
		damage     func(t *testing.T, path string)
	}{
		"a page that the migration reads": {sqlitetest.ToVersion3, overwritten("api_keys")},
		"a page that a connection reads":  {"", overwritten("unfinished_copy")},
		"truncated in a page":             {"", truncated(10_000)},
		"truncated after a page":          {"", truncated(8192)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, source := sqlitetest.OpenWithPet(t)
			sqlitetest.Execute(test.statements)(t, source)
			path := sqlitetest.CopyOf(t, source)
			test.damage(t, path)
			wantUnchanged := sqlitetest.Unchanged(t, path, path+"-wal")
			_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
			storetest.WantMessage(t, "Open", err, "the database is damaged: restore a backup that is intact")
			wantUnchanged()
		})
	}
}

func TestOpenMigratesStoreWithOlderSchema(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewPath(t)
	sqlitetest.Newer(t, path)
	sqlitetest.Execute(sqlitetest.ToVersion3+`DROP TABLE imports; DROP TABLE unfinished_copy;
		DELETE FROM petstore_schema_version WHERE version_id > 1; INSERT INTO pets (name, category_id) VALUES ('Rex', 1);
		INSERT INTO api_keys (name, hash, last_four, created_at) VALUES ('till 1', zeroblob(32), 'last', 0);
		INSERT INTO idempotency_keys (caller, value, fingerprint, claimed_at) VALUES ('10', 'k', zeroblob(32), 0), ('ann', 'k', zeroblob(32), 0)`)(t, path)
	store := sqlitetest.Open(t, path)
	storetest.WantNames(t, store, "Rex")
	storetest.Equal(t, "the schema", engine.Schema{Version: engine.SchemaVersion, Previous: 1}, store.Schema())
	keys, err := store.Keys().List(t.Context())
	if err != nil || len(keys) != 1 || keys[0].ReadOnly {
		t.Errorf("got the keys %+v and %v, want one that may do all", keys, err)
	}
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	defer func() { check(t, db.Close()) }()
	var callers string
	err = db.QueryRowContext(t.Context(), "SELECT group_concat(caller ORDER BY caller) FROM idempotency_keys").Scan(&callers)
	storetest.Equal(t, "the scopes of an API key and of another caller", "10,:ann", callers, err)
}

// A folder in the place of the WAL lets no file be opened, but causes no error of a disk.
func TestRemedyIsThatOfTheCause(t *testing.T) {
	t.Parallel()
	intact, withFolder := sqlitetest.NewStoreWithPet(t), sqlitetest.NewPath(t)
	check(t, os.Mkdir(withFolder+"-wal", 0o700))
	const remedy = "there is a folder where the file, its -wal or its -shm belongs: move it away"
	for code, want := range map[sqlite3.ErrNo]string{sqlite3.ErrIoErr: "", sqlite3.ErrCantOpen: remedy, sqlite3.ErrReadonly: remedy} {
		err := sqlite3.Error{Code: code}
		storetest.Equal(t, "an intact store", err.Error(), sqlite.New(intact).Remedy(err).Error())
		storetest.Equal(t, fmt.Sprintf("%v", code), cmp.Or(want, err.Error()), sqlite.New(withFolder).Remedy(err).Error())
	}
}

// The commit that overwrites a failed one waits for the lock, as any other does.
func TestBeginAfterFailedCommitWaitsForTheLock(t *testing.T) {
	t.Parallel()
	database, path := sqlitetest.NewDatabase(t)
	other, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate")
	check(t, err)
	defer func() { check(t, other.Close()) }()
	locked, err := other.BeginTx(t.Context(), nil)
	check(t, err)
	sqlite.FailCommit(database)
	time.AfterFunc(300*time.Millisecond, func() { _ = locked.Rollback() })
	tx, err := database.Begin(t.Context())
	check(t, err)
	check(t, tx.Rollback())
}

// The client may have disconnected: then "all changed" would make every cached page stale.
func TestPollChangesIgnoresTheEndOfTheRequest(t *testing.T) {
	t.Parallel()
	database, err := sqlite.New(sqlitetest.NewPath(t)).Open(t.Context(), engine.Options{Migrate: true, Exclusive: true}) // without the watcher, which looks too
	check(t, err)
	t.Cleanup(func() { _ = database.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opened := time.Now()
	storetest.WaitUntil(t, "a poll after the interval finds no change", func() bool {
		changes, err := database.PollChanges(ctx)
		return err == nil && changes == engine.Changes{} && time.Since(opened) > 2*database.PollInterval()
	})
}

// A failed commit is overwritten between transactions, too, but nothing is written to a file that is damaged.
func TestFailedCommitIsOverwrittenUnlessTheFileIsDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"intact":    func(string) error { return nil },
		"truncated": func(path string) error { return os.Truncate(path, 8192) },
		"moved":     func(path string) error { return os.Rename(path, path+".moved") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewPath(t)
			database, err := sqlite.New(path).Open(t.Context(), engine.Options{Migrate: true})
			check(t, err)
			t.Cleanup(func() { _ = database.Close() })
			check(t, damage(path))
			before := sqlitetest.ReadFile(t, path+"-wal")
			sqlite.FailCommit(database)
			sqlite.Watch(database)
			wrote := !bytes.Equal(before, sqlitetest.ReadFile(t, path+"-wal"))
			storetest.Equal(t, "whether the WAL was written to", name == "intact", wrote)
		})
	}
}

// A commit to a file that has no path any more succeeds. The hook runs after the check that precedes COMMIT.
func TestCommitFailsWhenAnotherFileIsAtThePath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(path string) error
		want   error
	}{
		"replaced":   {func(path string) error { return os.Rename(path+".other", path) }, storefile.ErrReplaced},
		"moved away": {func(path string) error { return os.Rename(path, path+".moved") }, nil},
	} {
		path := sqlitetest.NewStoreWithPet(t)
		sqlitetest.CopyStore(t, path, path+".other")
		database := sqlitetest.OpenDatabase(t, path)
		tx, err := database.Begin(t.Context())
		check(t, err)
		_, err = tx.ExecContext(t.Context(), "UPDATE pets SET name = 'Tom'")
		check(t, err)
		check(t, tx.(interface {
			Raw(f func(conn any) error) error
		}).Raw(func(conn any) error {
			conn.(*sqlite3.SQLiteConn).RegisterCommitHook(func() int { err = c.change(path); return 0 })
			return nil
		}))
		if commit := tx.Commit(engine.Changes{}); err != nil || !errors.Is(commit, c.want) {
			t.Errorf("%s: %v, Commit returned %v, want %v", name, err, commit, c.want)
		}
	}
}

// While the writer is used, as by a slow commit, PollChanges cannot look for the commits of other processes.
func TestPollChangesReportsChangesWhenItsLastLookIsOld(t *testing.T) {
	t.Parallel()
	database, _ := sqlitetest.NewDatabase(t)
	_, err := database.PollChanges(t.Context())
	check(t, err)
	tx, err := database.Begin(t.Context())
	check(t, err)
	sqlite.AgeLook(database)
	got, err := database.PollChanges(t.Context())
	storetest.Equal(t, "the changes", engine.Changes{Added: true, Changed: true, Keys: true}, got, err)
	check(t, tx.Rollback())
}

// On the connection that writes, a statement after the end would be a transaction of its own. Other
// kinds of statement are in endedTransactionCannotBeUsed of storetest.
func TestEndedTransactionRunsNoStatement(t *testing.T) {
	t.Parallel()
	database, _ := sqlitetest.NewDatabase(t)
	for name, end := range map[string]func(engine.Tx) error{
		"commit":   func(tx engine.Tx) error { return tx.Commit(engine.Changes{}) },
		"rollback": engine.Tx.Rollback,
		// A foreign key that is checked at the commit makes it fail, but SQLite does not end the transaction.
		"failed commit": func(tx engine.Tx) error {
			_, err := tx.ExecContext(t.Context(), `PRAGMA defer_foreign_keys = ON;
				INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (1, 'placed', 1, 1)`)
			if tx.Commit(engine.Changes{}) == nil {
				return errors.New("the commit succeeded")
			}
			return err
		},
	} {
		tx, err := database.Begin(t.Context())
		check(t, err)
		check(t, end(tx))
		_, err = tx.ExecContext(t.Context(), "INSERT INTO pets (name, category_id) VALUES ('rex', 7)")
		storetest.WantError(t, "after the "+name, err, sql.ErrConnDone)
		check(t, tx.Rollback())
	}
}
