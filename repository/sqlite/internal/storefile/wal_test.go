//go:build cgo

package storefile_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/sqlite/internal/storefile"
	"example.com/petstore/repository/storetest"
)

// After the commits are saved, the open store keeps the file locked. Otherwise another process could write to a new
// WAL that the open store cannot read.
func TestCommitsOfRemovedWALAreSaved(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(wal string) error{
		"removed": os.Remove,
		"moved":   func(wal string) error { return os.Rename(wal, wal+".moved") },
		"replaced by an empty one": func(wal string) error {
			return errors.Join(os.Remove(wal), os.WriteFile(wal, nil, 0o600))
		},
		"replaced by noise": func(wal string) error {
			return errors.Join(os.Remove(wal), os.WriteFile(wal, bytes.Repeat([]byte("noise"), 10_000), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := sqlitetest.OpenWithPet(t)
			check(t, remove(path+"-wal"))
			sqlitetest.WantUnavailable(t, s, storefile.ErrWALRemoved)
			testkit.WantError(t, "InTx", s.InTx(t.Context(), storetest.Adding("Ada")), storefile.ErrWALSaved)
			wantPetsWithoutWAL(t, path, 1)
			storetest.WantNames(t, s, "Rex")
			const insert = "INSERT INTO pets (name, category_id) VALUES ('ada', 7)"
			if err := sqlitetest.TryExecute(t, path+"?_busy_timeout=0", insert); err == nil {
				t.Error("another connection wrote, want that the store is locked")
			}
			check(t, s.Close())
			check(t, sqlitetest.TryExecute(t, path+"?_busy_timeout=0", insert))
			sqlitetest.WantPets(t, path, 2)
		})
	}
}

// An operator may have replaced the store with a backup and removed the WAL.
func TestCommitsOfRemovedWALAreSavedWithoutWritesUnlessTheFileIsAnother(t *testing.T) {
	t.Parallel()
	for another, pets := range map[bool]int{false: 2, true: 1} {
		t.Run(fmt.Sprint("another file: ", another), func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewStoreWithPet(t)
			sqlitetest.CopyStore(t, path, path+".backup")
			database := sqlitetest.OpenDatabase(t, path)
			commitPet(t, database)
			if another {
				sqlitetest.CopyFile(t, path+".backup", path)
			}
			check(t, os.Remove(path+"-wal"))
			if !another {
				testkit.WaitUntil(t, "the commits are saved", func() bool { return errors.Is(database.Check(t.Context()), storefile.ErrWALSaved) })
				wantPetsWithoutWAL(t, path, pets)
			}
			check(t, database.Close())
			wantPetsWithoutWAL(t, path, pets)
		})
	}
}

// After a restart, SQLite would apply the earlier copy of the WAL to the file.
func TestCommitsOfWALThatWasReplacedByItsCopyAreSaved(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]func(*testing.T, *repository.Store) error{
		"by a write": func(t *testing.T, s *repository.Store) error { return s.InTx(t.Context(), storetest.Adding("Ada")) },
		"by Close":   func(*testing.T, *repository.Store) error { return storefile.ErrWALSaved },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := sqlitetest.OpenWithPet(t)
			sqlitetest.CopyFile(t, path+"-wal", path+".copy")
			check(t, s.InTx(t.Context(), storetest.Adding("Tom")))
			copied := sqlitetest.ReadFile(t, path+".copy")
			check(t, os.Rename(path+".copy", path+"-wal"))
			testkit.WantError(t, "the error", later(t, s), storefile.ErrWALSaved)
			check(t, s.Close())
			sqlitetest.WantPets(t, path, 2)
			kept, err := filepath.Glob(path + "-wal.replaced-*")
			check(t, err)
			if len(kept) != 1 || !bytes.Equal(copied, sqlitetest.ReadFile(t, kept[0])) {
				t.Errorf("got %v, want one file, the copy of the WAL", kept)
			}
		})
	}
}

// The other connection may have committed to the other WAL.
func TestOtherWALIsNotMovedAfterCommitOfAnotherConnection(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewPath(t)
	s := sqlitetest.Open(t, path)
	other := openOther(t, path)
	check(t, s.InTx(t.Context(), storetest.Adding("Rex")))
	sqlitetest.CopyFile(t, path+"-wal", path+".copy")
	tx, err := other.BeginTx(t.Context(), nil)
	check(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO pets (name, category_id) VALUES ('tom', 7)")
	check(t, err)
	check(t, os.Rename(path+".copy", path+"-wal"))
	check(t, tx.Commit())
	check(t, other.Close())
	testkit.WantError(t, "InTx", s.InTx(t.Context(), storetest.Adding("Ada")), storefile.ErrOtherWAL)
	check(t, os.Rename(path+"-wal", path+".copy"))
	testkit.WantError(t, "InTx", s.InTx(t.Context(), storetest.Adding("Ada")), storefile.ErrWALSaved)
	check(t, s.Close())
	sqlitetest.WantPets(t, path, 2)
}

// The index in the shared memory has a commit that is only in the other WAL.
func TestCloseFailsWhenCommitsOfReplacedWALAreNotSaved(t *testing.T) {
	t.Parallel()
	var s *repository.Store
	var other *sql.DB
	for attempt := 0; other == nil; attempt++ {
		var path string
		s, path = sqlitetest.OpenWithPet(t)
		check(t, os.Remove(path+"-wal"))
		var err error
		if other, err = commitByOther(t, path); storefile.Code(err) != sqlite3.ErrBusy || attempt == 20 {
			check(t, err)
			break
		}
		check(t, s.Close()) // the store had saved the removed WAL before, and keeps a lock
	}
	testkit.WantError(t, "InTx", s.InTx(t.Context(), storetest.Adding("Tom")), storefile.ErrOtherWAL)
	err := s.Close()
	testkit.WantError(t, "Close", err, storefile.ErrOtherWAL)
	testkit.WantMessage(t, "Close", err, "commits since the last checkpoint are lost")
	check(t, other.Close())
}

// wantPetsWithoutWAL expects a number of pets in a copy of the file alone, as if the process had been killed and the
// WAL were lost.
func wantPetsWithoutWAL(t *testing.T, path string, want int) {
	t.Helper()
	crashed := sqlitetest.NewPath(t)
	sqlitetest.CopyFile(t, path, crashed)
	sqlitetest.WantPets(t, crashed, want)
}

func wantBeginError(t *testing.T, database engine.Database, want error) {
	t.Helper()
	_, err := database.Begin(t.Context())
	testkit.WantError(t, "Begin", err, want)
}

// commitPet adds a pet in a transaction.
func commitPet(t *testing.T, database engine.Database) {
	t.Helper()
	tx, err := database.Begin(t.Context())
	check(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO pets (name, category_id) VALUES ('tom', 7)")
	check(t, errors.Join(err, tx.Commit(engine.Changes{})))
}

// openOther returns a new connection that has committed to a WAL.
func openOther(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := commitByOther(t, path)
	check(t, err)
	return db
}

// commitByOther is openOther, but if the connection cannot commit within 100 ms, it returns the error.
func commitByOther(t *testing.T, path string) (*sql.DB, error) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=100")
	check(t, err)
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 1"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// SQLite cannot write a commit to the file while a read that began before the commit goes on.
func TestCommitsOfRemovedWALAreSavedAfterALongRead(t *testing.T) {
	t.Parallel()
	database, path := sqlitetest.NewDatabase(t)
	reader, err := database.Pools()["readers"].BeginTx(t.Context(), nil)
	check(t, err)
	var pets int
	check(t, reader.QueryRowContext(t.Context(), "SELECT count(*) FROM pets").Scan(&pets))
	commitPet(t, database)
	check(t, os.Remove(path+"-wal"))
	wantBeginError(t, database, storefile.ErrWALNotSaved)
	check(t, reader.Rollback())
	wantBeginError(t, database, storefile.ErrWALSaved)
	check(t, database.Close())
	sqlitetest.WantPets(t, path, 1)
}

// The WAL is empty before the commit, because a checkpoint has truncated it. So its size before the commit does
// not reveal that it is truncated after the commit. Check finds the truncation between two transactions. The
// error remains, although the WAL is restored before the next transaction begins.
func TestCheckNoticesTruncationOfWALAfterCommit(t *testing.T) {
	t.Parallel()
	database, path := sqlitetest.NewDatabase(t)
	check(t, sqlitetest.TryExecute(t, path, "PRAGMA wal_checkpoint(TRUNCATE)"))
	check(t, database.Check(t.Context()))
	commitPet(t, database)
	wal := sqlitetest.ReadFile(t, path+"-wal")
	check(t, os.Truncate(path+"-wal", 0))
	testkit.WantError(t, "Check", database.Check(t.Context()), storefile.ErrWALTruncated)
	check(t, os.WriteFile(path+"-wal", wal, 0o600))
	wantBeginError(t, database, storefile.ErrWALTruncated)
}

func TestWALOfSmallPagesIsNotTruncated(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	sqlitetest.Execute("PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM")(t, path)
	database := sqlitetest.OpenDatabase(t, path)
	for range 2 {
		commitPet(t, database)
		check(t, sqlitetest.TryExecute(t, path, "PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO pets (name, category_id) VALUES ('ada', 7)"))
		check(t, database.Check(t.Context()))
	}
}

func TestStoreIsUnavailableWhenItsWALIsTruncated(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"to nothing": 0, "to its header": 32} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := sqlitetest.OpenWithPet(t)
			check(t, s.Ping(t.Context())) // checks the WAL that has the commit
			check(t, os.Truncate(path+"-wal", size))
			sqlitetest.WantUnavailable(t, s, storefile.ErrWALTruncated)
			wantUnchanged := sqlitetest.Unchanged(t, path)
			check(t, s.Close())
			wantUnchanged()
			if info, err := os.Stat(path + "-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != size {
				t.Errorf("got the WAL %v and %v, want one of %d bytes", info, err, size)
			}
		})
	}
}
