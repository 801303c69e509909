package repository

import (
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"
)

func TestRemedyInventsNoCause(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	openCounting(t, path)
	for _, code := range []sqlite3.ErrNo{sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrIoErr} {
		err := sqlite3.Error{Code: code}
		if got := remedy(err, path); got.Error() != err.Error() {
			t.Errorf("%v became %v, though nothing is in the way", err, got)
		}
	}
}
