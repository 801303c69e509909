package repository_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// interruptCopy interrupts a copy after the first batch.
func interruptCopy(t *testing.T, from, to string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result, err := repository.Copy(ctx, sqlite.New(from), sqlite.New(to), repository.CopyOptions{
		Progress: func(string, int) func(int) { return func(int) { cancel() } },
	})
	if err == nil || !result.Started || result.Copied == 0 || result.Copied == result.Rows {
		t.Fatalf("got %+v and %v, want a copy that is interrupted", result, err)
	}
}

func TestUnfinishedCopyCannotBeOpenedOrCopied(t *testing.T) {
	t.Parallel()
	from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
	interruptCopy(t, from, to)
	want := fmt.Sprintf("%s: it is an unfinished copy of %s: run the same petstore copy again to finish it, or use another store", to, from)
	if _, err := repository.Open(t.Context(), sqlite.New(to), repository.Options{Migrate: true}); err == nil || err.Error() != "open the store "+want {
		t.Errorf("open: got %v, want %s", err, want)
	}
	if _, err := copyFile(t.Context(), to, filepath.Join(t.TempDir(), "other.db")); err == nil || err.Error() != "open the source "+want {
		t.Errorf("copy: got %v, want %s", err, want)
	}
	want = fmt.Sprintf("copy to %s: it is an unfinished copy of %s: copy from that, or name an empty target", to, from)
	if _, err := copyFile(t.Context(), newFile(t, manyPets), to); err == nil || err.Error() != want {
		t.Errorf("copy from another source: got %v, want %s", err, want)
	}
}

func TestInterruptedCopyContinues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    string // of the source, after the interruption
		restarted bool
	}{
		"unchanged source": {"", false},
		"new rows":         {"INSERT INTO pets (name, category_id) VALUES ('new', 1); UPDATE pets SET name = 'changed' WHERE id = 11000", false},
		"another value":    {"UPDATE pets SET status = 'sold' WHERE id = 1", true},
		"a row less":       {"DELETE FROM pets WHERE id = 1", true},
		"few rows":         {"DELETE FROM orders; DELETE FROM pets WHERE id > 10", true},
		"no rows":          {"DELETE FROM orders; DELETE FROM pets", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
			interruptCopy(t, from, to)
			if test.change != "" {
				execute(t, from, test.change)
			}
			result, err := copyFile(t.Context(), from, to)
			if err != nil || result.Restarted != test.restarted || result.Earlier > 0 == test.restarted || result.Copied != result.Rows {
				t.Errorf("got %+v and %v, want restarted %t", result, err, test.restarted)
			}
			wantSame(t, from, to)
			store, err := repository.Open(t.Context(), sqlite.New(to), repository.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A table that is complete may have changed while a later one was copied.
func TestCopyThatIsInterruptedInALaterTableStartsAgain(t *testing.T) {
	t.Parallel()
	from, to := newFile(t, manyPets), filepath.Join(t.TempDir(), "copy.db")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := 0
	_, err := repository.Copy(ctx, sqlite.New(from), sqlite.New(to), repository.CopyOptions{Progress: func(string, int) func(int) {
		return func(n int) {
			if done += n; done > 12000 {
				cancel()
			}
		}
	}})
	if err == nil {
		t.Fatal("got no error, want an interruption")
	}
	execute(t, from, "UPDATE orders SET status = 'delivered' WHERE id = 1; UPDATE pets SET status = 'sold' WHERE id = 10")
	result, err := copyFile(t.Context(), from, to)
	if err != nil || !result.Restarted {
		t.Errorf("got %+v and %v, want restarted", result, err)
	}
	wantSame(t, from, to)
}
