//go:build cgo

package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestErrorOfUnknownCauseIsUnchanged(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	open(t, folder, repository.Options{Migrate: true})
	for _, code := range []sqlite3.ErrNo{sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrIoErr} {
		err := sqlite3.Error{Code: code}
		if got := sqlite.WithRemedy(err, filepath.Join(folder, "pets.db")); got.Error() != err.Error() {
			t.Errorf("got %v, want %v", got, err)
		}
	}
}

// A folder in the place of the WAL lets no file be opened, but causes no error of a disk.
func TestIOErrorIsNotExplainedByFilePermissions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	check(t, os.Mkdir(path+"-wal", 0o700))
	const remedy = "there is a folder where the file, its -wal or its -shm belongs: move it away"
	ioErr := sqlite3.Error{Code: sqlite3.ErrIoErr}
	for code, want := range map[sqlite3.ErrNo]string{
		sqlite3.ErrIoErr: ioErr.Error(), sqlite3.ErrCantOpen: remedy, sqlite3.ErrReadonly: remedy,
	} {
		if got := sqlite.WithRemedy(sqlite3.Error{Code: code}, path).Error(); got != want {
			t.Errorf("%v: got %q, want %q", code, got, want)
		}
	}
}
