//go:build cgo

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

var check = testkit.Check

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

func TestOneServiceServesAFile(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	service := repository.Options{Options: engine.Options{Service: true}}
	first, err := repository.Open(t.Context(), sqlite.New(path), service)
	check(t, err)
	t.Cleanup(func() { _ = first.Close() })
	_, err = repository.Open(t.Context(), sqlite.NewWithWait(path, 50*time.Millisecond), service)
	testkit.WantMessage(t, "a second service", err, path, "stop that service, or run several services on PostgreSQL (database.driver: postgres)")
	command := sqlitetest.Open(t, path)
	check(t, command.InTx(t.Context(), storetest.Adding("Tom")))
	time.AfterFunc(100*time.Millisecond, func() { _ = first.Close() })
	second, err := repository.Open(t.Context(), sqlite.NewWithWait(path, time.Minute), service)
	check(t, err)
	storetest.WantNames(t, second, "Rex", "Tom")
	check(t, second.Close())
}

func TestOpenRejectsOtherFilesUnchanged(t *testing.T) {
	t.Parallel()
	var migrate repository.Options
	noMigration := repository.Options{Options: engine.Options{NoMigration: true}}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		options repository.Options
		want    string
	}{
		"text":                 {sqlitetest.WriteFile(strings.Repeat("not a database ", 20)), migrate, "is not a SQLite database"},
		"another program's":    {sqlitetest.Execute("CREATE TABLE Orders (text)"), migrate, "another program has a table Orders in it"},
		"another program's id": {sqlitetest.Execute("PRAGMA application_id = 7"), migrate, "database of another program"},
		"folder":               {func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) }, migrate, "not a regular file"},
		"newer":                {sqlitetest.Newer, migrate, "use a newer petstore"},
		"newer, restored": {func(t *testing.T, path string) {
			sqlitetest.Newer(t, path)
			sqlitetest.Execute("PRAGMA journal_mode = DELETE")(t, path) // VACUUM INTO writes backups in this mode
		}, migrate, "use a newer petstore"},
		"old": {func(t *testing.T, path string) {
			sqlitetest.Newer(t, path)
			sqlitetest.Execute("DELETE FROM petstore_schema_version WHERE version_id > 0")(t, path)
		}, noMigration, "run petstore migrate up"},
		"missing": {func(*testing.T, string) {}, noMigration, "there is no such file: correct the path, or run petstore migrate up"},
		"empty":   {sqlitetest.WriteFile(""), noMigration, "run petstore migrate up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewPath(t)
			test.prepare(t, path)
			wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
			_, err := repository.Open(t.Context(), sqlite.New(path), test.options)
			testkit.WantMessage(t, "the error", err, test.want, path)
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
	testkit.Equal(t, "the files", "[- pets.db]", fmt.Sprint(entries))
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
	created := testkit.Concurrently(t, 8, func(int) (bool, error) {
		store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
		if err != nil {
			return false, err
		}
		return store.Schema().Created, errors.Join(store.InTx(t.Context(), storetest.Adding("Rex")), store.Close())
	})
	testkit.Equal(t, "how many stores were created", 1, created)
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
	for name, damage := range map[string]func(t *testing.T, path string){
		"a page that is read first": overwritten("unfinished_copy"),
		"truncated in a page":       truncated(10_000),
		"truncated after a page":    truncated(8192),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, source := sqlitetest.OpenWithPet(t)
			path := sqlitetest.CopyOf(t, source)
			damage(t, path)
			wantUnchanged := sqlitetest.Unchanged(t, path, path+"-wal")
			_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
			testkit.WantMessage(t, "Open", err, "the database is damaged: restore a backup that is intact")
			wantUnchanged()
		})
	}
}

func TestPollIgnoresTheEndOfTheRequest(t *testing.T) {
	t.Parallel()
	database, _ := sqlitetest.NewDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opened := time.Now()
	testkit.WaitUntil(t, "a poll after the interval finds no commit of others", func() bool {
		_, others, err := database.Poll(ctx)
		return err == nil && !others && time.Since(opened) > 2*engine.PollInterval
	})
}

// While the writer is in use but has no lock, as when it waits for another process, Poll cannot look for commits of other
// processes. While it has the lock, there are none.
func TestPollReportsOthersWhenItsLastLookIsOld(t *testing.T) {
	t.Parallel()
	database, _ := sqlitetest.NewDatabase(t)
	_, _, err := database.Poll(t.Context())
	check(t, err)
	tx, err := database.Begin(t.Context(), nil)
	check(t, err)
	for _, locked := range []bool{true, false} {
		sqlite.AgeLook(database, locked)
		_, others, err := database.Poll(t.Context())
		testkit.Equal(t, "whether there may be commits of others", !locked, others, err)
	}
	check(t, tx.Rollback())
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	sqlitetest.Execute(`PRAGMA writable_schema = ON; UPDATE sqlite_schema
		SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'orders_status_id') WHERE name = 'pets_category_id_status_id'`)(t, path)
	found, omitted, err := sqlitetest.Open(t, path).Check(t.Context())
	testkit.Equal(t, "what is omitted", "", omitted, err)
	if len(found) == 0 {
		t.Error("found no damage")
	}
	for _, damage := range found {
		testkit.WantMessage(t, "the damage", errors.New(damage.Text), "the file is damaged (", "): restore a backup that is intact")
		testkit.Equal(t, "whether it can be repaired", false, damage.Repairable())
	}
}
