//go:build cgo

package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/storetest"
)

var check = storetest.Check

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStoreContract(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]repository.Options{
		"without traces": {Migrate: true},
		"with traces":    {Migrate: true, TracerProvider: sdktrace.NewTracerProvider()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Store { return open(t, t.TempDir(), options) })
		})
	}
}

func TestStoresOnOneFile(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, n int) []storetest.Store {
		stores, folder := make([]storetest.Store, n), t.TempDir()
		for i := range stores {
			stores[i] = open(t, folder, repository.Options{Migrate: true})
		}
		return stores
	})
}

// open opens the store pets.db in a folder. The store is closed when the test ends.
func open(t *testing.T, folder string, o repository.Options) *repository.Store {
	t.Helper()
	store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(folder, "pets.db")), o)
	check(t, err)
	t.Cleanup(func() { check(t, store.Close()) })
	return store
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
		"another program's":    {sqlitetest.Execute("CREATE TABLE notes (text)"), migrate, "database of another program"},
		"another program's id": {sqlitetest.Execute("PRAGMA application_id = 7"), migrate, "database of another program"},
		"folder":               {func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) }, migrate, "not a regular file"},
		"newer":                {sqlitetest.Newer, migrate, "use a newer petstore"},
		"newer, restored": {func(t *testing.T, path string) {
			sqlitetest.Newer(t, path)
			sqlitetest.Execute("PRAGMA journal_mode = DELETE")(t, path) // as VACUUM INTO writes a backup
		}, migrate, "use a newer petstore"},
		"old": {func(t *testing.T, path string) {
			sqlitetest.Newer(t, path)
			sqlitetest.Execute("DELETE FROM goose_db_version WHERE version_id > 0")(t, path)
		}, repository.Options{}, "run petstore migrate up"},
		"missing":                    {func(*testing.T, string) {}, repository.Options{}, "run petstore migrate up"},
		"missing, but it must exist": {func(*testing.T, string) {}, repository.Options{Migrate: true, MustExist: true}, "there is no such file"},
		"empty":                      {sqlitetest.WriteFile(""), repository.Options{}, "run petstore migrate up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			test.prepare(t, path)
			before := sqlitetest.Files(t, filepath.Dir(path))
			_, err := repository.Open(t.Context(), sqlite.New(path), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got the error %v, want one line with %q and the path", err, test.want)
			}
			if after := sqlitetest.Files(t, filepath.Dir(path)); after != before {
				t.Errorf("got the files\n%s\nwant\n%s", after, before)
			}
		})
	}
}

func TestPathIsUsedLiterallyAndCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a b?c=d&e#f%20é")
	check(t, os.Mkdir(folder, 0o700))
	store := open(t, folder, repository.Options{Migrate: true})
	check(t, store.InTx(t.Context(), storetest.Adding("Rex")))
	_, err := store.Pets().Get(t.Context(), 1)
	check(t, err)
	check(t, store.Close())
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || entries[0].Name() != "pets.db" {
		t.Errorf("got the files %v and %v, want pets.db alone", entries, err)
	}
}

// If all commits are in the file already, SQLite removes the WAL without writing to the file.
func TestCloseMayBeCalledAgainAfterACheckpoint(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store := open(t, folder, repository.Options{Migrate: true})
	check(t, store.InTx(t.Context(), storetest.Adding("Rex")))
	sqlitetest.Execute("PRAGMA wal_checkpoint(PASSIVE)")(t, filepath.Join(folder, "pets.db"))
	for range 2 {
		check(t, store.Close())
	}
}

func TestConcurrentOpensCreateOneStore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var created atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(folder, "pets.db")), repository.Options{Migrate: true})
			if err != nil {
				t.Error(err)
				return
			}
			if store.Schema().Created {
				created.Add(1)
			}
			if err := errors.Join(store.InTx(t.Context(), storetest.Adding("Rex")), store.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	sqlitetest.WantPets(t, filepath.Join(folder, "pets.db"), 8)
	if created.Load() != 1 {
		t.Errorf("got %d stores that were created, want 1", created.Load())
	}
}

// The WAL may have commits that no backup has.
func TestDamagedFileAndItsWALAreNotChanged(t *testing.T) {
	t.Parallel()
	s, source := sqlitetest.OpenWithPet(t)
	t.Cleanup(func() { check(t, s.Close()) })
	info, err := os.Stat(source)
	check(t, err)
	var rejected atomic.Int64
	t.Cleanup(func() {
		if rejected.Load() == 0 {
			t.Error("no file was rejected")
		}
	})
	for part := int64(1); part < 16; part++ {
		t.Run(fmt.Sprintf("truncated to %d/16", part), func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.CopyOf(t, source)
			check(t, os.Truncate(path, info.Size()*part/16))
			before := [...][]byte{sqlitetest.ReadFile(t, path), sqlitetest.ReadFile(t, path+"-wal")}
			store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
			if err == nil { // what is missing has not been read, or is in the WAL
				check(t, store.Close())
				return
			}
			rejected.Add(1)
			if !strings.HasSuffix(err.Error(), "the database is damaged: restore a backup that is intact") {
				t.Errorf("got the error %v, want that the database is damaged", err)
			}
			if !bytes.Equal(before[0], sqlitetest.ReadFile(t, path)) || !bytes.Equal(before[1], sqlitetest.ReadFile(t, path+"-wal")) {
				t.Errorf("the files were changed, with the error %v", err)
			}
		})
	}
}

func TestOpenMigratesStoreWithOlderSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	sqlitetest.Newer(t, path)
	for _, statement := range []string{
		"DROP TABLE imports", "DROP TABLE unfinished_copy", "ALTER TABLE api_keys DROP COLUMN read_only",
		"DELETE FROM goose_db_version WHERE version_id > 1", "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)",
		"INSERT INTO api_keys (name, hash, last_four, created_at) VALUES ('till 1', zeroblob(32), 'last', 0)",
	} {
		sqlitetest.Execute(statement)(t, path)
	}
	store := open(t, filepath.Dir(path), repository.Options{Migrate: true})
	page, err := store.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 1}})
	if err != nil || len(page.Items) != 1 || store.Schema().Version != 4 || store.Schema().Created {
		t.Errorf("got %v, %v, schema version %d and created %t, want one pet, 4 and false", page.Items, err, store.Schema().Version, store.Schema().Created)
	}
	keys, err := store.Keys().List(t.Context())
	if err != nil || len(keys) != 1 || keys[0].ReadOnly {
		t.Errorf("got the keys %+v and %v, want one that may do all", keys, err)
	}
}

func TestDamagedFileIsNotChangedByMigration(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "pets.db")
	s := sqlitetest.Open(t, source)
	t.Cleanup(func() { check(t, s.Close()) })
	sqlitetest.Execute("ALTER TABLE api_keys DROP COLUMN read_only; DELETE FROM goose_db_version WHERE version_id = 4")(t, source)
	path := sqlitetest.CopyOf(t, source)
	sqlitetest.OverwritePage(t, path, "api_keys") // which the migration reads
	before := [...][]byte{sqlitetest.ReadFile(t, path), sqlitetest.ReadFile(t, path+"-wal")}
	_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err == nil || !strings.HasSuffix(err.Error(), "the database is damaged: restore a backup that is intact") {
		t.Errorf("got the error %v, want that the database is damaged", err)
	}
	sqlitetest.CollectGarbage()
	if !bytes.Equal(before[0], sqlitetest.ReadFile(t, path)) || !bytes.Equal(before[1], sqlitetest.ReadFile(t, path+"-wal")) {
		t.Error("the file or its WAL was changed")
	}
}
