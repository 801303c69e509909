package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestStoreIsUnavailableWhenItsFileIsReplaced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"replaced": func(path string) error {
			backup := filepath.Join(filepath.Dir(path), "backup.db")
			content, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(backup, content, 0o600), os.Rename(backup, path))
		},
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			if err := errors.Join(s.InTx(t.Context(), adding("Rex")), s.Ping(t.Context())); err != nil {
				t.Fatal(err)
			}
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			for call, err := range map[string]error{"InTx": s.InTx(t.Context(), adding("Tom")), "Ping": s.Ping(t.Context())} {
				if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, sqlite.ErrFileReplaced) {
					t.Errorf("%s: got %v, want unavailable and %v", call, err, sqlite.ErrFileReplaced)
				}
			}
		})
	}
}

func TestCommitFailsWhenItsFileIsRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	err = s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(adding("Rex")(ctx, r), os.Remove(path))
	})
	if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, sqlite.ErrFileReplaced) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want unavailable, %v and %v", err, sqlite.ErrFileReplaced, os.ErrNotExist)
	}
}

func TestStoreIsUnavailableWhenAnotherFileIsCopiedOverIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "pets.db"), filepath.Join(folder, "backup.db")
	s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	check(t, err)
	check(t, s.InTx(t.Context(), adding("Rex")))
	copyStore(t, path, backup)
	check(t, s.InTx(t.Context(), adding("Tom")))
	copyFile(t, backup, path)
	for call, err := range map[string]error{"InTx": s.InTx(t.Context(), adding("Ada")), "Ping": s.Ping(t.Context())} {
		if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, sqlite.ErrForeignWAL) {
			t.Errorf("%s: got %v, want unavailable and %v", call, err, sqlite.ErrForeignWAL)
		}
	}
	check(t, s.Close())
	if content, err := os.ReadFile(path); err != nil || string(content) != string(readFile(t, backup)) {
		t.Errorf("the file was changed: %v", err)
	}
	if _, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{}); !errors.Is(err, sqlite.ErrForeignWAL) {
		t.Errorf("got %v, want %v", err, sqlite.ErrForeignWAL)
	}
}

// The file of a store is modified by each checkpoint.
func TestStoreIsAvailableAfterCheckpoints(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	for range 20 {
		check(t, s.InTx(t.Context(), adding("Rex")))
		execute("PRAGMA wal_checkpoint(TRUNCATE)")(t, path)
		reopen(t, path)
		check(t, s.InTx(t.Context(), adding("Tom")))
		check(t, s.Ping(t.Context()))
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	check(t, err)
	return content
}
