//go:build cgo

package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
	"example.com/petstore/repository/sqlite"
)

func TestErrorOfTheStoreNamesCauseAndRemedy(t *testing.T) {
	t.Parallel()
	busy := domain.Unavailable(fmt.Errorf("begin: %w", sqlite3.Error{Code: sqlite3.ErrBusy}))
	const locked = "the store pets.db: it is locked by another process: stop that process, then try again"
	for _, test := range []struct {
		err  error
		want string
	}{
		{busy, locked},
		{fmt.Errorf("keys: %w", busy), locked},
		{interruptedOr(t.Context(), busy, "added 1 of 2 animals"), locked + ": added 1 of 2 animals"},
		{domain.Unavailable(errors.New("unknown")), "the store pets.db: unknown"},
		{domain.Unavailable(context.Canceled), "interrupted"},
		{interruptedOr(t.Context(), errors.New("write: failed"), "incomplete"), "write: failed: incomplete"},
		{domain.PetNotFound(1), domain.PetNotFound(1).Error()},
	} {
		if got := storeError(test.err, sqlite.New("pets.db")); got.Error() != test.want {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
	if err := storeError(nil, sqlite.New("pets.db")); err != nil {
		t.Errorf("got %v for no error", err)
	}
}
