package sqlite_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite"
)

// A kill of the process leaves the files as they are then.
func TestCommitsOfRemovedWALAreSaved(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(wal string) error{
		"removed": os.Remove,
		"moved":   func(wal string) error { return os.Rename(wal, wal+".moved") },
		"replaced by an empty one": func(wal string) error {
			return errors.Join(os.Remove(wal), os.WriteFile(wal, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
			check(t, err)
			t.Cleanup(func() { check(t, s.Close()) })
			check(t, s.InTx(t.Context(), adding("Rex")))
			check(t, remove(path+"-wal"))
			for call, err := range map[string]error{"InTx": s.InTx(t.Context(), adding("Tom")), "Ping": s.Ping(t.Context())} {
				if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, sqlite.ErrWALRemoved) {
					t.Errorf("%s: got %v, want unavailable and %v", call, err, sqlite.ErrWALRemoved)
				}
			}
			if err := s.InTx(t.Context(), adding("Ada")); !errors.Is(err, sqlite.ErrWALSaved) {
				t.Errorf("got %v, want %v", err, sqlite.ErrWALSaved)
			}
			crashed := filepath.Join(t.TempDir(), "pets.db")
			copyFile(t, path, crashed)
			wantPets(t, crashed, 1)
			if _, err := s.Pets().Get(t.Context(), 1); err != nil {
				t.Errorf("reading: got %v", err)
			}
		})
	}
}

func TestCommitsOfRemovedWALAreSavedWithoutWrites(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(engine.Database) error{
		"by a poll": func(d engine.Database) error {
			_, err := d.PollChanges(t.Context())
			return err
		},
		"by Close": func(d engine.Database) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			newStore(t, path, "Rex")
			database, err := sqlite.New(path).Open(t.Context(), engine.Options{MaxOpenConns: 1})
			check(t, err)
			tx, err := database.Begin(t.Context())
			check(t, err)
			_, err = tx.ExecContext(t.Context(), "INSERT INTO pets (name, category_id) VALUES ('tom', 7)")
			check(t, errors.Join(err, tx.Commit(engine.Changes{})))
			check(t, os.Remove(path+"-wal"))
			check(t, notice(database))
			if name == "by Close" {
				check(t, database.Close())
			} else {
				defer func() { check(t, database.Close()) }()
			}
			crashed := filepath.Join(t.TempDir(), "pets.db")
			copyFile(t, path, crashed)
			wantPets(t, crashed, 2)
		})
	}
}

// Another process that writes would create a WAL that the open store cannot read.
func TestRemovedWALLocksTheStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	check(t, err)
	check(t, s.InTx(t.Context(), adding("Rex")))
	check(t, os.Remove(path+"-wal"))
	if err := s.InTx(t.Context(), adding("Tom")); !errors.Is(err, sqlite.ErrWALSaved) {
		t.Fatalf("got %v, want %v", err, sqlite.ErrWALSaved)
	}
	const insert = "INSERT INTO pets (name, category_id) VALUES ('ada', 7)"
	if err := tryExecute(t, path+"?_busy_timeout=0", insert); err == nil {
		t.Error("another connection wrote, want that the store is locked")
	}
	check(t, s.Close())
	check(t, tryExecute(t, path+"?_busy_timeout=0", insert))
	wantPets(t, path, 2)
}

// An operator may have put a backup in the place of the store and removed its WAL.
func TestRemovedWALIsNotWrittenToAnotherFile(t *testing.T) {
	t.Parallel()
	path, backup := filepath.Join(t.TempDir(), "pets.db"), filepath.Join(t.TempDir(), "backup.db")
	database, err := sqlite.New(path).Open(t.Context(), engine.Options{Migrate: true, MaxOpenConns: 1})
	check(t, err)
	copyStore(t, path, backup)
	tx, err := database.Begin(t.Context())
	check(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO pets (name, category_id) VALUES ('tom', 7)")
	check(t, errors.Join(err, tx.Commit(engine.Changes{})))
	copyFile(t, backup, path)
	check(t, os.Remove(path+"-wal"))
	_, err = database.PollChanges(t.Context())
	check(t, err)
	check(t, database.Close())
	if !bytes.Equal(readFile(t, backup), readFile(t, path)) {
		t.Error("the file was changed")
	}
}

func TestStoreIsUnavailableWhenItsWALIsTruncated(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"to nothing": 0, "to its header": 32} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pets.db")
			s, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
			check(t, err)
			check(t, s.InTx(t.Context(), adding("Rex")))
			check(t, s.Ping(t.Context())) // checks the WAL with the commit
			check(t, os.Truncate(path+"-wal", size))
			for call, err := range map[string]error{"InTx": s.InTx(t.Context(), adding("Tom")), "Ping": s.Ping(t.Context())} {
				if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, sqlite.ErrWALTruncated) {
					t.Errorf("%s: got %v, want unavailable and %v", call, err, sqlite.ErrWALTruncated)
				}
			}
			before := readFile(t, path)
			check(t, s.Close())
			if diff := cmp.Diff(before, readFile(t, path)); diff != "" {
				t.Error("the file was changed by Close")
			}
			if info, err := os.Stat(path + "-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != size {
				t.Errorf("got the WAL %v and %v, want one of %d bytes", info, err, size)
			}
		})
	}
}
