//go:build cgo

package storefile_test

import (
	"errors"
	"os"
	"testing"

	"example.com/petstore/internal/sqlite/storefile"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestFileWithSecondNameIsNotOpened(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	other := path + ".kept"
	check(t, os.Link(path, other))
	for _, name := range []string{path, other} {
		_, err := repository.Open(t.Context(), sqlite.New(name), repository.Options{})
		testkit.WantError(t, name, err, storefile.ErrLinked)
		testkit.WantMessage(t, name, err, "a hard link")
	}
	check(t, os.Remove(other))
	sqlitetest.WantPets(t, path, 1)
}

// A killed Replace may leave a second name of the file. Open removes it, but no other second name.
func TestOpenRemovesOnlySecondNameOfReplace(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	for _, name := range []string{"2026", "by-hand", "20260102T030405.000Z.kept"} {
		link := path + ".replaced-" + name
		check(t, os.Link(path, link))
		_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{})
		testkit.WantError(t, name, err, storefile.ErrLinked)
		check(t, os.Remove(link)) // fails if Open has removed the link
	}
	link, symbolic := path+".replaced-20260102T030405.000Z", sqlitetest.NewPath(t)
	check(t, errors.Join(os.Link(path, link), os.Symlink(path, symbolic)))
	sqlitetest.WantPets(t, symbolic, 1)
	_, err := os.Lstat(link)
	testkit.WantError(t, "Lstat of the second name", err, os.ErrNotExist)
}
