package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestOpenRejectsFileReplacedBesideItsWAL(t *testing.T) {
	t.Parallel()
	for name, backup := range map[string]func(t *testing.T, path, to string){
		"by a copy":          func(t *testing.T, path, to string) { copyStore(t, path, to) },
		"by a file copy":     copyFile, // of a store that no process has open
		"by an empty store":  func(t *testing.T, _, to string) { newStore(t, to, "") },
		"by another store":   func(t *testing.T, _, to string) { newStore(t, to, "Tom") },
		"by an older backup": func(t *testing.T, path, to string) { copyStore(t, path, to); reopen(t, path); reopen(t, path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path, saved := filepath.Join(folder, "pets.db"), filepath.Join(folder, "saved.db")
			newStore(t, path, "Rex")
			backup(t, path, saved)
			crashed := crash(t, path, "Tom")
			copyFile(t, saved, crashed)

			before := files(t, filepath.Dir(crashed))
			_, err := repository.Open(t.Context(), sqlite.New(crashed), repository.Options{Migrate: true})
			if !errors.Is(err, sqlite.ErrForeignWAL) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), crashed+"-wal") {
				t.Errorf("got the error %v, want one line with %v and the WAL", err, sqlite.ErrForeignWAL)
			}
			check(t, os.RemoveAll(crashed+"-shm")) // an index of the WAL, which SQLite makes anew
			if after := files(t, filepath.Dir(crashed)); after != before {
				t.Errorf("the files were changed:\n%.200s\nwant\n%.200s", after, before)
			}
		})
	}
}

func TestOpenAcceptsStoreAfterCrash(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "pets.db")
	newStore(t, path, "Rex")
	want := 1
	for range 5 { // each a crash of a store that was not closed before
		path = crash(t, path, "Tom")
		want++
		wantPets(t, copyOf(t, path), want)
	}
}

// A checkpoint writes the pages in the order of their numbers. A crash within one leaves a file
// that is damaged without its WAL.
func TestOpenAcceptsStoreAfterCrashWithinCheckpoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	newStore(t, path, "")
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
	check(t, err)
	for range 90 { // many pages: names are in the table
		check(t, store.InTx(t.Context(), adding(strings.Repeat("x", domain.MaxPetName))))
	}
	before := copyOf(t, path)
	check(t, store.Close())
	after, err := os.ReadFile(path)
	check(t, err)
	const pageSize = 4096
	for pages := 1; pages < len(after)/pageSize; pages++ {
		crashed := copyOf(t, before)
		file, err := os.OpenFile(crashed, os.O_WRONLY, 0)
		check(t, err)
		_, err = file.WriteAt(after[:pages*pageSize], 0)
		check(t, errors.Join(err, file.Close()))
		wantPets(t, crashed, 90)
	}
}

// newStore creates a store with a pet, or without one if the name is empty.
func newStore(t *testing.T, path, name string) {
	t.Helper()
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	check(t, err)
	if name != "" {
		check(t, store.InTx(t.Context(), adding(name)))
	}
	check(t, store.Close())
}

// reopen opens and closes a store.
func reopen(t *testing.T, path string) {
	t.Helper()
	newStore(t, path, "")
}

// crash adds a pet to a store, and returns the path of the store that a crash would leave
// then, in another folder. The WAL has the pet.
func crash(t *testing.T, path, name string) string {
	t.Helper()
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
	check(t, err)
	defer func() { _ = store.Close() }()
	check(t, store.InTx(t.Context(), adding(name)))
	return copyOf(t, path)
}

// copyOf copies the file of a store and its WAL to another folder.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "pets.db")
	copyFile(t, path, to)
	copyFile(t, path+"-wal", to+"-wal")
	return to
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	check(t, err)
	check(t, os.WriteFile(to, content, 0o600))
}

// wantPets expects a number of pets in the store at path.
func wantPets(t *testing.T, path string, want int) {
	t.Helper()
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
	check(t, err)
	defer func() { _ = store.Close() }()
	page, err := store.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 100}})
	if err != nil || len(page.Items) != want {
		t.Errorf("got %d pets and %v, want %d", len(page.Items), err, want)
	}
}
