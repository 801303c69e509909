//go:build cgo && unix

// Package sqlitetest has helpers for the tests of package sqlite and of the packages below it.
package sqlitetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/sqlite/backup"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// NewPath returns the path of a file that does not exist, in a folder of its own.
func NewPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "pets.db")
}

// Open opens a store, or creates it if there is none. The store is closed when the test ends.
func Open(t *testing.T, path string) *repository.Store {
	t.Helper()
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
	testkit.Check(t, err)
	t.Cleanup(func() { _ = store.Close() }) // may fail if the test has changed its files
	return store
}

// OpenDatabase opens the database of a store, or creates it if there is none. The database is closed when
// the test ends.
func OpenDatabase(t *testing.T, path string) engine.Database {
	t.Helper()
	database, err := sqlite.New(path).Open(t.Context(), engine.Options{MaxOpenConns: 1})
	testkit.Check(t, err)
	t.Cleanup(func() { testkit.Check(t, database.Close()) }) // nil if the test has closed it
	return database
}

// NewDatabase creates a store and opens its database.
func NewDatabase(t *testing.T) (_ engine.Database, path string) {
	t.Helper()
	path = NewPath(t)
	return OpenDatabase(t, path), path
}

// OpenWithPet opens a new store with a pet, and returns the store and its path.
func OpenWithPet(t *testing.T) (store *repository.Store, path string) {
	t.Helper()
	path = NewPath(t)
	store = Open(t, path)
	testkit.Check(t, store.InTx(t.Context(), storetest.Adding("Rex")))
	return store, path
}

// NewStoreWithPet creates a store with a pet and returns its path.
func NewStoreWithPet(t *testing.T) (path string) {
	t.Helper()
	path = NewPath(t)
	NewStore(t, path, "Rex")
	return path
}

// WantUnavailable expects that a store is unavailable and that want is the cause.
func WantUnavailable(t *testing.T, s *repository.Store, want error) {
	t.Helper()
	for call, err := range map[string]error{"InTx": s.InTx(t.Context(), storetest.Adding("Tom")), "Ping": s.Ping(t.Context())} {
		testkit.WantError(t, call, err, domain.ErrUnavailable, want)
	}
}

// NewStore creates a store, unless it exists, and closes it. If name is not empty, it adds a pet with that
// name.
func NewStore(t *testing.T, path, name string) {
	t.Helper()
	store := Open(t, path)
	if name != "" {
		testkit.Check(t, store.InTx(t.Context(), storetest.Adding(name)))
	}
	testkit.Check(t, store.Close())
}

// Newer creates a store with the schema of a newer program.
func Newer(t *testing.T, path string) {
	t.Helper()
	NewStore(t, path, "")
	Execute("INSERT INTO petstore_schema_version (version_id, is_applied) VALUES (99999, 1); UPDATE store SET min_schema_version = 99999")(t, path)
}

// Damaged creates a store in which an index does not match its table.
func Damaged(t *testing.T, path string) {
	t.Helper()
	NewStore(t, path, "Rexxxxxxxx")
	Execute(`PRAGMA writable_schema = ON; UPDATE sqlite_schema
		SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'orders_pet_id') WHERE name = 'pets_status_id'`)(t, path)
}

// Crash adds a pet to a store. It returns the path of a copy in another folder, as a crash at this moment
// would leave the store: the pet is in the WAL.
func Crash(t *testing.T, path, name string) string {
	t.Helper()
	store := Open(t, path)
	defer func() { _ = store.Close() }()
	testkit.Check(t, store.InTx(t.Context(), storetest.Adding(name)))
	return CopyOf(t, path)
}

// CopyOf copies the file of a store to another folder, with its WAL if there is one.
func CopyOf(t *testing.T, path string) string {
	t.Helper()
	to := NewPath(t)
	CopyFile(t, path, to)
	if _, err := os.Stat(path + "-wal"); err == nil {
		CopyFile(t, path+"-wal", to+"-wal")
	}
	return to
}

// CopyFile copies a file, but not its WAL.
func CopyFile(t *testing.T, from, to string) {
	t.Helper()
	testkit.Check(t, os.WriteFile(to, ReadFile(t, from), 0o600))
}

// Copy copies a store to a new file with backup.Copy.
func Copy(ctx context.Context, from, to string) (backup.Contents, error) {
	file, err := os.Create(to)
	if err != nil {
		return backup.Contents{}, err
	}
	defer file.Close()
	return backup.Copy(ctx, from, file, func(int, int) {})
}

// CopyStore is Copy that must succeed.
func CopyStore(t *testing.T, from, to string) backup.Contents {
	t.Helper()
	contents, err := Copy(t.Context(), from, to)
	testkit.Check(t, err)
	return contents
}

// WantPets expects a number of pets in the store at path.
func WantPets(t *testing.T, path string, want int) {
	t.Helper()
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
	testkit.Check(t, err)
	defer func() { _ = store.Close() }()
	got, err := store.Pets().Count(t.Context(), "")
	testkit.Equal(t, "the number of pets", int64(want), got, err)
}

// ReadFile returns the content of a file that must be readable.
func ReadFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	testkit.Check(t, err)
	return content
}

// WriteFile returns a function that writes a file.
func WriteFile(content string) func(*testing.T, string) {
	return func(t *testing.T, path string) { testkit.Check(t, os.WriteFile(path, []byte(content), 0o600)) }
}

// Unchanged returns a function that expects that these files, and all files in these folders, are as they
// are now.
func Unchanged(t *testing.T, paths ...string) (wantUnchanged func()) {
	t.Helper()
	read := func() map[string]string {
		contents := map[string]string{}
		for _, path := range paths {
			_ = filepath.WalkDir(path, func(name string, _ fs.DirEntry, _ error) error {
				content, _ := os.ReadFile(name) // empty for a folder, and for a file that does not exist
				contents[name] = string(content)
				return nil
			})
		}
		return contents
	}
	before := read()
	return func() {
		t.Helper()
		testkit.Equal(t, "the files", before, read())
	}
}

// Execute returns a function that executes a statement on a connection of its own.
func Execute(statement string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		testkit.Check(t, TryExecute(t, path, statement))
	}
}

// TryExecute returns the error of a statement on a connection of its own.
func TryExecute(t *testing.T, path, statement string) error {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	testkit.Check(t, err)
	_, err = db.ExecContext(t.Context(), statement)
	return errors.Join(err, db.Close())
}

// OverwritePage overwrites the first page of a table or an index in a file. No process may have the file
// open.
func OverwritePage(t *testing.T, path, name string) {
	t.Helper()
	var root int64
	db, err := sql.Open("sqlite3", "file:"+path+"?immutable=1")
	testkit.Check(t, err)
	testkit.Check(t, db.QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_schema WHERE name = ?", name).Scan(&root))
	testkit.Check(t, db.Close())
	content := ReadFile(t, path)
	copy(content[4096*(root-1):], bytes.Repeat([]byte{0xff}, 4096))
	testkit.Check(t, os.WriteFile(path, content, 0))
}
