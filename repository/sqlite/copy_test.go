package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestCopyHasEverythingThatWasCommittedBefore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store := open(t, folder, repository.Options{Migrate: true})
	var committed atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil {
			if err = store.InTx(t.Context(), adding("Rex")); err == nil {
				committed.Add(1)
			}
		}
		done <- err
	}()
	for range 20 {
		before := committed.Load()
		contents := copyStore(t, filepath.Join(folder, "pets.db"), filepath.Join(t.TempDir(), "copy.db"))
		if after := committed.Load(); contents.Pets < before || contents.Pets > after+1 {
			t.Errorf("got %d pets, want %d to %d", contents.Pets, before, after+1)
		}
	}
	cancel()
	check(t, <-done)
}

func TestCopyIsOneFile(t *testing.T) {
	t.Parallel()
	path, folder := filepath.Join(t.TempDir(), "pets.db"), t.TempDir()
	newStore(t, path, "Rex")
	copyStore(t, crash(t, path, "Tom"), filepath.Join(folder, "copy.db"))
	if got := files(t, folder); !strings.HasPrefix(got, "copy.db ") || strings.Contains(got, "copy.db-") {
		t.Errorf("got the files\n%.100s\nwant copy.db alone", got)
	}
	wantPets(t, filepath.Join(folder, "copy.db"), 2)
}

func TestCopyRejectsWhatIsNoIntactStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    string
	}{
		"missing":       {func(*testing.T, string) {}, "there is no such file"},
		"empty":         {writeFile(""), "there is no store in it: name another file"},
		"text":          {writeFile(strings.Repeat("not a database ", 20)), "it is not a SQLite database"},
		"other program": {execute("CREATE TABLE notes (text)"), "it is the database of another program"},
		"newer":         {newer, "use a newer petstore"},
		"damaged":       {damaged, "the database is damaged"},
		"foreign key": {func(t *testing.T, path string) {
			newStore(t, path, "")
			execute("INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (7, 'placed', 0, 0)")(t, path)
		}, "a row of orders refers to a missing row"},
		"cut": {func(t *testing.T, path string) { newStore(t, path, "Rex"); check(t, os.Truncate(path, 20_000)) }, "the database is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			test.prepare(t, path)
			_, err := sqlite.Copy(t.Context(), path, newFile(t, filepath.Join(t.TempDir(), "copy.db")), ignore)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got the error %v, want one line with %q and the path", err, test.want)
			}
		})
	}
}

func TestCopyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	newStore(t, path, "Rex")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := sqlite.Copy(ctx, path, newFile(t, filepath.Join(t.TempDir(), "copy.db")), func(int, int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func ignore(int, int) {}

// copyStore copies a store with Copy.
func copyStore(t *testing.T, from, to string) sqlite.Contents {
	t.Helper()
	contents, err := sqlite.Copy(t.Context(), from, newFile(t, to), ignore)
	check(t, err)
	return contents
}

func newFile(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Create(path)
	check(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// damaged creates a store in which an index does not match its table.
func damaged(t *testing.T, path string) {
	t.Helper()
	newStore(t, path, "Rexxxxxxxx")
	content, err := os.ReadFile(path)
	check(t, err)
	execute("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'orders_pet_id') WHERE name = 'pets_status_id'")(t, path)
	changed, err := os.ReadFile(path)
	check(t, err)
	if bytes.Equal(content, changed) {
		t.Fatal("the file was not damaged")
	}
}
