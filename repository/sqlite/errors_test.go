//go:build cgo

package sqlite_test

import (
	"cmp"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite"
)

func TestRemedyOfFileSystemsThatSQLiteCannotUse(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]sqlite3.Error{
		"the file system has no shared memory, as some network file systems and FUSE: keep the store on a local disk": {
			Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrSHMMap, SystemErrno: syscall.ENODEV,
		},
		"there is no temporary folder that this user can write: set TMPDIR to one": {
			Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrGetTempPath, SystemErrno: syscall.EACCES,
		},
	} {
		testkit.Equal(t, "the remedy", want, sqlite.New("pets.db").Remedy(fmt.Errorf("read: %w", err)).Error())
	}
}

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
