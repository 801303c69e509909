//go:build cgo

package storefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/sqlite/internal/storefile"
	"example.com/petstore/repository/storetest"
)

func TestFileWithSecondNameIsNotUsed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	other := path + ".kept"
	s := sqlitetest.Open(t, path)
	t.Cleanup(func() { check(t, s.Close()) })
	check(t, s.InTx(t.Context(), storetest.Adding("Rex")))
	check(t, os.Link(path, other))
	sqlitetest.WantUnavailable(t, s, storefile.ErrLinked)
	for _, name := range []string{path, other} {
		_, err := repository.Open(t.Context(), sqlite.New(name), repository.Options{})
		if !errors.Is(err, storefile.ErrLinked) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line with %v", err, storefile.ErrLinked)
		}
	}
	check(t, os.Remove(other))
	check(t, s.InTx(t.Context(), storetest.Adding("Ada")))
	check(t, s.Ping(t.Context()))
	sqlitetest.WantPets(t, path, 2)
}

func TestOpenRemovesNoSecondNameOfAnotherForm(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	for _, name := range []string{"2026", "by-hand", "20260102T030405.000Z.kept"} {
		link := path + ".replaced-" + name
		check(t, os.Link(path, link))
		if _, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{}); !errors.Is(err, storefile.ErrLinked) {
			t.Errorf("%s: got %v, want %v", name, err, storefile.ErrLinked)
		}
		check(t, os.Remove(link)) // fails if Open has removed it
	}
}

func TestOpenRemovesSecondNameThatKilledReplaceHasLeft(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	link := path + ".replaced-20260102T030405.000Z"
	check(t, os.Link(path, link))
	symbolic := filepath.Join(t.TempDir(), "link.db")
	check(t, os.Symlink(path, symbolic))
	sqlitetest.WantPets(t, symbolic, 1)
	if _, err := os.Lstat(link); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the second name does not exist", err)
	}
	sqlitetest.WantPets(t, path, 1)
}
