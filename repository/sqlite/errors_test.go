//go:build cgo

package sqlite_test

import (
	"cmp"
	"fmt"
	"os"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
)

// If a folder is in the place of the WAL, SQLite cannot open the store, although the disk returns no error.
func TestRemedyIsThatOfTheCause(t *testing.T) {
	t.Parallel()
	intact, withFolder := sqlitetest.NewStoreWithPet(t), sqlitetest.NewPath(t)
	check(t, os.Mkdir(withFolder+"-wal", 0o700))
	const remedy = "there is a folder where the file, its -wal or its -shm belongs: move it away"
	for code, want := range map[sqlite3.ErrNo]string{sqlite3.ErrIoErr: "", sqlite3.ErrCantOpen: remedy, sqlite3.ErrReadonly: remedy} {
		err := sqlite3.Error{Code: code}
		testkit.Equal(t, "an intact store", err.Error(), sqlite.New(intact).Remedy(err).Error())
		testkit.Equal(t, fmt.Sprintf("%v", code), cmp.Or(want, err.Error()), sqlite.New(withFolder).Remedy(err).Error())
	}
}
