package sqlite_test

import (
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
