package repository

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.com/petstore/domain"
)

// Who restores a backup below a service that runs must not be told that what is
// added from then on is safe.
func TestStoreWhoseFileIsAnotherPromisesNothing(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(path string) error{
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
			s, err := Open(t.Context(), Options{DSN: path, Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			if err := errors.Join(s.InTx(t.Context(), adding("Rex")), s.Ping(t.Context())); err != nil {
				t.Fatal(err)
			}
			if err := disturb(path); err != nil {
				t.Fatal(err)
			}
			for act, err := range map[string]error{"InTx": s.InTx(t.Context(), adding("Tom")), "Ping": s.Ping(t.Context())} {
				if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, errMoved) {
					t.Errorf("%s returned %v", act, err)
				}
			}
		})
	}
}

// Between the look before a commit and the commit itself the file can go, too.
func TestCommitToAFileThatWentMeanwhileIsNotPromised(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, err := Open(t.Context(), Options{DSN: path, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	err = s.InTx(t.Context(), func(ctx context.Context, r domain.Repositories) error {
		return errors.Join(adding("Rex")(ctx, r), os.Remove(path))
	})
	if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, errMoved) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("InTx returned %v", err)
	}
}
