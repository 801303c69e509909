package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestOpenRejectsOtherFilesUnchanged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		migrate bool
		want    string
	}{
		"text":                 {writeFile("not a database, but long enough to have a header of one hundred bytes" + strings.Repeat(".", 100)), true, "is not a SQLite database"},
		"another program's":    {execute("CREATE TABLE notes (text)"), true, "database of another program"},
		"another program's id": {execute("PRAGMA application_id = 7"), true, "database of another program"},
		"folder":               {func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) }, true, "not a regular file"},
		"newer":                {newer, true, "use a newer petstore"},
		"newer, restored": {func(t *testing.T, path string) {
			newer(t, path)
			execute("PRAGMA journal_mode = DELETE")(t, path) // as VACUUM INTO writes a backup
		}, true, "use a newer petstore"},
		"old": {func(t *testing.T, path string) {
			newer(t, path)
			execute("DELETE FROM goose_db_version WHERE version_id > 0")(t, path)
		}, false, "run petstore migrate up"},
		"missing": {func(*testing.T, string) {}, false, "run petstore migrate up"},
		"empty":   {writeFile(""), false, "run petstore migrate up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			test.prepare(t, path)
			before := files(t, filepath.Dir(path))
			_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: test.migrate})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got the error %v, want one line with %q and the path", err, test.want)
			}
			if after := files(t, filepath.Dir(path)); after != before {
				t.Errorf("got the files\n%s\nwant\n%s", after, before)
			}
		})
	}
}

func TestOpenRejectsInvalidPaths(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFile("")(t, filepath.Join(folder, "file"))
	check(t, os.Symlink("missing.db", filepath.Join(folder, "link")))
	for _, test := range []struct{ path, want string }{
		{"", "the path of a file"},
		{":memory:", "the path of a file"},
		{"file:pets.db", "the path of a file"},
		{filepath.Join(folder, "none", "pets.db"), "there is no folder"},
		{filepath.Join(folder, "file", "pets.db"), "not a directory"},
		{filepath.Join(folder, "link"), "a symbolic link to a file that does not exist"},
	} {
		_, err := repository.Open(t.Context(), sqlite.New(test.path), repository.Options{Migrate: true})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got the error %v, want %q", test.path, err, test.want)
		}
	}
}

func TestPathIsUsedLiterally(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a b?c=d&e#f%20é")
	check(t, os.Mkdir(folder, 0o700))
	open(t, folder, repository.Options{Migrate: true})
	if got := files(t, folder); !strings.HasPrefix(got, "pets.db ") {
		t.Errorf("got the files\n%s\nwant pets.db", got)
	}
}

func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(folder, "pets.db")), repository.Options{Migrate: true})
	check(t, err)
	check(t, store.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: "Rex"})
		return err
	}))
	_, err = store.Pets().Get(t.Context(), 1)
	check(t, err)
	check(t, store.Close())
	entries, err := os.ReadDir(folder)
	check(t, err)
	if len(entries) != 1 || entries[0].Name() != "pets.db" {
		t.Errorf("got the files %v, want pets.db alone", entries)
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
			if err := store.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
				_, err := r.Pets.Create(ctx, domain.NewPet{Name: "Rex"})
				return err
			}); err != nil {
				t.Error(err)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	page, err := open(t, folder, repository.Options{Migrate: true}).Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 100}})
	if err != nil || len(page.Items) != 8 {
		t.Errorf("got %d pets and %v, want 8", len(page.Items), err)
	}
	if created.Load() != 1 {
		t.Errorf("got %d stores that were created, want 1", created.Load())
	}
}

func TestOpenCreatesStoreUnlessItMustExist(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true, MustExist: true})
	if err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("got %v, want an error about a missing file", err)
	}
	for _, created := range []bool{true, false} {
		store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true, MustExist: !created})
		check(t, err)
		if store.Schema().Created != created || store.Schema().Version != 4 {
			t.Errorf("got created %t and schema version %d, want %t and 4", store.Schema().Created, store.Schema().Version, created)
		}
		check(t, store.Close())
	}
}

func TestOpenMigratesStoreWithOlderSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	newer(t, path)
	for _, statement := range []string{
		"DROP TABLE imports", "DROP TABLE unfinished_copy", "ALTER TABLE api_keys DROP COLUMN read_only",
		"DELETE FROM goose_db_version WHERE version_id > 1", "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)",
		"INSERT INTO api_keys (name, hash, last_four, created_at) VALUES ('till 1', zeroblob(32), 'last', 0)",
	} {
		execute(statement)(t, path)
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

func TestOpenReportsDamagedFileWithRemedy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	newer(t, path)
	execute("DELETE FROM goose_db_version WHERE version_id = 99999")(t, path)
	overwritePage(t, path, "pets_status_id") // which the first read uses
	_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err == nil || !strings.Contains(err.Error(), "the database is damaged: restore a backup") {
		t.Errorf("got the error %v, want that the database is damaged", err)
	}
}

func TestOpenRejectsWALOrSharedMemoryWithoutItsFile(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"-wal", "-shm"} {
		path := filepath.Join(t.TempDir(), "pets.db")
		writeFile("commits")(t, path+suffix)
		_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
		want := "put the file back, run petstore restore with a backup, or move " + path + suffix + " away"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want %q", err, want)
		}
		if got := files(t, filepath.Dir(path)); got != "pets.db"+suffix+" commits\n" {
			t.Errorf("got the files\n%s", got)
		}
	}
}

func writeFile(content string) func(*testing.T, string) {
	return func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte(content), 0o600)) }
}

func execute(statement string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		check(t, tryExecute(t, path, statement))
	}
}

// tryExecute returns the error of a statement on a connection of its own.
func tryExecute(t *testing.T, path, statement string) error {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	_, err = db.ExecContext(t.Context(), statement)
	return errors.Join(err, db.Close())
}

// newer creates a store with the schema of a newer program.
func newer(t *testing.T, path string) {
	t.Helper()
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	check(t, err)
	check(t, store.Close())
	execute("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)")(t, path)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files returns the names and contents of the files in a folder.
func files(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	check(t, err)
	var all strings.Builder
	for _, entry := range entries {
		content := []byte("a folder")
		if !entry.IsDir() {
			content, err = os.ReadFile(filepath.Join(folder, entry.Name()))
			check(t, err)
		}
		all.WriteString(entry.Name() + " " + string(content) + "\n")
	}
	return all.String()
}

// The WAL may have commits that no backup has.
func TestDamagedFileAndItsWALAreNotChanged(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "pets.db")
	s, err := repository.Open(t.Context(), sqlite.New(source), repository.Options{Migrate: true})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	check(t, s.InTx(t.Context(), adding("Rex")))
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
			path := copyOf(t, source)
			check(t, os.Truncate(path, info.Size()*part/16))
			before := [...][]byte{readFile(t, path), readFile(t, path+"-wal")}
			store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
			if err == nil { // what is missing has not been read, or is in the WAL
				check(t, store.Close())
				return
			}
			rejected.Add(1)
			if !strings.HasSuffix(err.Error(), "the database is damaged: restore a backup that is intact") {
				t.Errorf("got the error %v, want that the database is damaged", err)
			}
			if !bytes.Equal(before[0], readFile(t, path)) || !bytes.Equal(before[1], readFile(t, path+"-wal")) {
				t.Errorf("the files were changed, with the error %v", err)
			}
		})
	}
}

func TestDamagedFileIsNotChangedByMigration(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "pets.db")
	s, err := repository.Open(t.Context(), sqlite.New(source), repository.Options{Migrate: true})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	execute("ALTER TABLE api_keys DROP COLUMN read_only; DELETE FROM goose_db_version WHERE version_id = 4")(t, source)
	path := copyOf(t, source)
	overwritePage(t, path, "api_keys") // which the migration reads
	before := [...][]byte{readFile(t, path), readFile(t, path+"-wal")}
	_, err = repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err == nil || !strings.HasSuffix(err.Error(), "the database is damaged: restore a backup that is intact") {
		t.Errorf("got the error %v, want that the database is damaged", err)
	}
	collectGarbage()
	if !bytes.Equal(before[0], readFile(t, path)) || !bytes.Equal(before[1], readFile(t, path+"-wal")) {
		t.Error("the file or its WAL was changed")
	}
}

// overwritePage overwrites the first page of a table or index in a file that nothing has open.
func overwritePage(t *testing.T, path, name string) {
	t.Helper()
	var root int64
	db, err := sql.Open("sqlite3", "file:"+path+"?immutable=1")
	check(t, err)
	check(t, db.QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_schema WHERE name = ?", name).Scan(&root))
	check(t, db.Close())
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	check(t, err)
	_, err = file.WriteAt(bytes.Repeat([]byte{0xff}, 4096), 4096*(root-1))
	check(t, err)
	check(t, file.Close())
}
