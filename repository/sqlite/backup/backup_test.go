//go:build cgo

package backup_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/storetest"
)

var check = storetest.Check

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, time.November, 21, 18, 30, 0, 0, time.UTC)

const suffix = ".replaced-20261121T183000.000Z"

// TestReplaceIsWholeAfterEachStep ends Replace before each of its steps. Then the store with
// two pets, one of them in the WAL of a crash, or the new one with three is in place, and
// Replace can run again.
func TestReplaceIsWholeAfterEachStep(t *testing.T) {
	t.Parallel()
	previous, next := sqlitetest.Crash(t, sqlitetest.NewStoreWithPet(t), "Tom"), sqlitetest.NewPath(t)
	for _, name := range []string{"Ada", "Bob", "Cid"} {
		sqlitetest.NewStore(t, next, name)
	}
	for step, more := 0, true; more; step++ {
		path := sqlitetest.CopyOf(t, previous)
		with := path + ".restored"
		sqlitetest.CopyStore(t, next, with)
		var err error
		more, err = backup.ReplaceKilled(t.Context(), path, with, at, step)
		check(t, err)

		want := 2
		if _, err := os.Stat(with); errors.Is(err, os.ErrNotExist) {
			want = 3
		}
		sqlitetest.WantPets(t, sqlitetest.CopyOf(t, path), want)
		if step == 0 && want != 2 || !more && want != 3 {
			t.Errorf("step %d: got %d pets", step, want)
		}

		sqlitetest.CopyStore(t, next, with)
		replaced, err := backup.Replace(t.Context(), path, with, at.Add(time.Hour))
		check(t, err)
		sqlitetest.WantPets(t, path, 3)
		storetest.Equal(t, fmt.Sprintf("step %d: the number of files that were kept", step), 1, len(replaced.Kept))
		sqlitetest.WantPets(t, replaced.Kept[0], want)
	}
}

// The clock was ahead when the recording began. The backup is from before the last change.
func TestReplaceContinuesAboveThePositionsOfThePreviousStore(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	store := sqlitetest.Open(t, path)
	recording := func(store *repository.Store) domain.Recording {
		r, err := store.Changes().Recording(t.Context())
		check(t, err)
		return r
	}
	check(t, store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Changes.Begin(ctx, at.AddDate(1, 0, 0))
		return err
	}))
	check(t, store.InTx(t.Context(), storetest.Adding("Tom")))
	sqlitetest.CopyStore(t, path, path+".restored")
	check(t, store.InTx(t.Context(), storetest.Adding("Ada")))
	last := recording(store).Last
	check(t, store.Close())
	_, err := backup.Replace(t.Context(), path, path+".restored", at)
	check(t, err)
	restored := sqlitetest.Open(t, path)
	storetest.Equal(t, "Recording", domain.Recording{KeptAfter: last, Last: last}, recording(restored))
	check(t, restored.Close())
}

func TestReplaceRejectsStoreInUseAndKeepsPermissions(t *testing.T) {
	t.Parallel()
	s, path := sqlitetest.OpenWithPet(t)
	sqlitetest.CopyStore(t, path, path+".restored")
	check(t, os.Chmod(path, 0o640))
	wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
	_, err := backup.Replace(t.Context(), path, path+".restored", at)
	storetest.WantError(t, "Replace", err, engine.ErrInUse)
	wantUnchanged()
	check(t, s.Close())
	_, err = backup.Replace(t.Context(), path, path+".restored", at)
	check(t, err)
	info, err := os.Stat(path)
	check(t, err)
	storetest.Equal(t, "the mode", os.FileMode(0o640), info.Mode())
}

func TestReplaceKeepsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		kept    []string
	}{
		"missing":           {func(*testing.T, string) {}, nil},
		"missing, with WAL": {func(t *testing.T, path string) { sqlitetest.WriteFile("commits")(t, path+"-wal") }, []string{"pets.db-wal" + suffix}},
		"empty":             {sqlitetest.WriteFile(""), []string{"pets.db" + suffix}},
		"emptied": {func(t *testing.T, path string) { // SQLite has removed its WAL
			sqlitetest.WriteFile("")(t, path)
			sqlitetest.WriteFile(strings.Repeat("\x00", 32768))(t, path+"-shm")
		}, []string{"pets.db" + suffix, "pets.db-shm" + suffix}},
		"text":    {sqlitetest.WriteFile(strings.Repeat("noise ", 1000)), []string{"pets.db" + suffix}},
		"damaged": {sqlitetest.Damaged, []string{"pets.db" + suffix}},
		"newer":   {sqlitetest.Newer, []string{"pets.db" + suffix}},
		"truncated, with its WAL": {func(t *testing.T, path string) {
			sqlitetest.NewStore(t, path, "Rex")
			crashed := sqlitetest.Crash(t, path, "Tom")
			sqlitetest.CopyFile(t, crashed+"-wal", path+"-wal")
			sqlitetest.CopyFile(t, crashed, path)
			check(t, os.Truncate(path, int64(len(sqlitetest.ReadFile(t, crashed))/2)))
		}, []string{"pets.db" + suffix, "pets.db-wal" + suffix, "pets.db-shm" + suffix}},
		"with the WAL of another file": {func(t *testing.T, path string) {
			sqlitetest.NewStore(t, path, "Rex")
			sqlitetest.CopyStore(t, path, path+".copy")
			crashed := sqlitetest.Crash(t, path, "Tom")
			sqlitetest.CopyFile(t, crashed+"-wal", path+"-wal")
			check(t, os.Rename(path+".copy", path))
		}, []string{"pets.db" + suffix, "pets.db-wal" + suffix, "pets.db-shm" + suffix}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path, next := filepath.Join(folder, "pets.db"), filepath.Join(t.TempDir(), "next.db")
			sqlitetest.NewStore(t, next, "Ada")
			test.prepare(t, path)
			previous, _ := os.ReadFile(path)
			sqlitetest.CopyStore(t, next, path+".restored")
			replaced, err := backup.Replace(t.Context(), path, path+".restored", at)
			check(t, err)
			var names []string
			for _, name := range replaced.Kept {
				names = append(names, filepath.Base(name))
			}
			storetest.Equal(t, "kept", test.kept, names)
			if len(previous) > 100 && !bytes.Equal(sqlitetest.ReadFile(t, replaced.Kept[0])[100:], previous[100:]) { // the header has the journal mode
				t.Error("the previous file was changed")
			}
			sqlitetest.WantPets(t, path, 1)
		})
	}
}

func TestReplaceRejectsDatabaseOfAnotherProgram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.db")
	sqlitetest.Execute("CREATE TABLE notes (text)")(t, path)
	sqlitetest.NewStore(t, path+".restored", "Rex")
	wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
	_, err := backup.Replace(t.Context(), path, path+".restored", at)
	storetest.WantMessage(t, "the error", err, "the database of another program")
	wantUnchanged()
}

// The rule is in SQL, too.
func TestReplaceReportsTheKeysThatAreUsable(t *testing.T) {
	t.Parallel()
	path, with := sqlitetest.NewPath(t), sqlitetest.NewPath(t)
	sqlitetest.NewStore(t, with, "")
	now := at.Add(time.Millisecond / 2)
	times := []sql.Null[int64]{{}} // none, and in milliseconds
	for _, offset := range []time.Duration{-time.Hour, -time.Millisecond, 0, time.Millisecond, time.Hour} {
		times = append(times, sql.Null[int64]{V: at.Add(offset).UnixMilli(), Valid: true})
	}
	timeOf := func(millis sql.Null[int64]) *time.Time {
		if !millis.Valid {
			return nil
		}
		stored := time.UnixMilli(millis.V)
		return &stored
	}
	db, err := sql.Open("sqlite3", with)
	check(t, err)
	var want []int64
	id, notRevoked := int64(0), int64(0)
	for _, created := range times[1:] {
		for _, expires := range times {
			for _, revoked := range times {
				id++
				_, err := db.ExecContext(t.Context(),
					"INSERT INTO api_keys (id, name, hash, last_four, created_at, expires_at, revoked_at) VALUES (?, 'till', randomblob(32), 'last', ?, ?, ?)", id, created, expires, revoked)
				check(t, err)
				key := apikey.Key{CreatedAt: *timeOf(created), ExpiresAt: timeOf(expires), RevokedAt: timeOf(revoked)}
				if key.Usable(now) {
					want = append(want, id)
				}
				if key.State(now) != apikey.Revoked {
					notRevoked++
				}
			}
		}
	}
	check(t, db.Close())
	sqlitetest.CopyStore(t, with, path+".restored")
	sqlitetest.CopyStore(t, with, with+".revoked")
	replaced, err := backup.Replace(t.Context(), path, path+".restored", now)
	check(t, err)
	var got []int64
	for _, key := range replaced.UsableKeys {
		got = append(got, key.ID)
	}
	storetest.Equal(t, "the keys", want, got)
	if len(want) == 0 || replaced.KeysErr == nil {
		t.Errorf("got the error %v and %d keys, want both", replaced.KeysErr, len(want))
	}
	file, err := os.OpenFile(with+".revoked", os.O_RDWR, 0)
	check(t, err)
	defer file.Close()
	revoked, err := backup.RevokeKeys(t.Context(), file, now)
	storetest.Equal(t, "the number of keys that were revoked", notRevoked, revoked, err)
}

func TestCopyIsOneFile(t *testing.T) {
	t.Parallel()
	path, to := sqlitetest.NewStoreWithPet(t), sqlitetest.NewPath(t)
	sqlitetest.CopyStore(t, sqlitetest.Crash(t, path, "Tom"), to)
	entries, err := os.ReadDir(filepath.Dir(to))
	if err != nil || len(entries) != 1 {
		t.Errorf("got the files %v and %v, want the copy alone", entries, err)
	}
	sqlitetest.WantPets(t, to, 2)
}

func TestCopyRejectsWhatIsNoIntactStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    string
	}{
		"missing":       {func(*testing.T, string) {}, "there is no such file"},
		"empty":         {sqlitetest.WriteFile(""), "there is no store in it: name another file"},
		"text":          {sqlitetest.WriteFile(strings.Repeat("not a database ", 20)), "it is not a SQLite database"},
		"other program": {sqlitetest.Execute("CREATE TABLE notes (text)"), "there is no store in it: name another file"},
		"newer":         {sqlitetest.Newer, "use a newer petstore"},
		"damaged":       {sqlitetest.Damaged, "the database is damaged"},
		"foreign key": {func(t *testing.T, path string) {
			sqlitetest.NewStore(t, path, "")
			sqlitetest.Execute("INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (7, 'placed', 0, 0)")(t, path)
		}, "a row of orders refers to a missing row"},
		"cut": {func(t *testing.T, path string) {
			sqlitetest.NewStore(t, path, "Rex")
			check(t, os.Truncate(path, 20_000))
		}, "the database is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewPath(t)
			test.prepare(t, path)
			_, err := sqlitetest.Copy(t.Context(), path, sqlitetest.NewPath(t))
			storetest.WantMessage(t, "the error", err, test.want, path)
		})
	}
}

// Programs such as rsync --link-dest make hard links to files that have not changed.
func TestCopyReadsBackupWithSecondName(t *testing.T) {
	t.Parallel()
	path, copied := sqlitetest.NewStoreWithPet(t), sqlitetest.NewPath(t)
	sqlitetest.CopyStore(t, path, copied)
	check(t, os.Link(copied, copied+".linked"))
	contents := sqlitetest.CopyStore(t, copied+".linked", sqlitetest.NewPath(t))
	storetest.Equal(t, "the number of pets", int64(1), contents.Pets)
	check(t, os.Link(path, path+".linked")) // beside which the WAL of the store is not found
	_, err := sqlitetest.Copy(t.Context(), path+".linked", sqlitetest.NewPath(t))
	storetest.WantMessage(t, "the error", err, "a second name, a hard link")
}

func TestCopyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	ctx, cancel := context.WithCancel(t.Context())
	file, err := os.Create(sqlitetest.NewPath(t))
	check(t, err)
	defer file.Close()
	_, err = backup.Copy(ctx, path, file, func(int, int) { cancel() })
	storetest.WantError(t, "the error", err, context.Canceled)
}

func TestVerifyRejectsAnotherSchemaThanThatOfTheMigrations(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"DROP INDEX orders_live": "the index orders_live is missing",
		"DROP INDEX orders_live; CREATE INDEX orders_live ON orders (pet_id)":       "the index orders_live is another one",
		"CREATE TRIGGER again AFTER INSERT ON orders BEGIN DELETE FROM orders; END": "the trigger again was added",
		"DROP TABLE imports": "the table imports is missing",
		"CREATE INDEX pets_name ON pets (name); CREATE TABLE notes (text); CREATE VIEW pets_view AS SELECT name FROM pets":                          "",
		"CREATE TABLE notes (pet REFERENCES pets); INSERT INTO notes VALUES (7); CREATE TRIGGER on_notes AFTER INSERT ON notes BEGIN SELECT 1; END": "",
		"ALTER TABLE pets ADD COLUMN price INTEGER":                                             "the table pets is another one",
		"CREATE TABLE _litestream_lock (id INTEGER); CREATE TABLE _litestream_seq (id INTEGER)": "",
		"ANALYZE": "",
		"DELETE FROM petstore_schema_version WHERE version_id > 3":                                                                         "the schema is not that of version 3, the table api_keys is another one, the trigger orders_added was added, the trigger orders_updated was added, the trigger pets_added was added, the trigger pets_updated was added",
		sqlitetest.ToVersion3 + "DROP TABLE imports; DROP TABLE unfinished_copy; DELETE FROM petstore_schema_version WHERE version_id > 1": "",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.NewStoreWithPet(t)
			sqlitetest.CopyStore(t, path, path+".copy")
			sqlitetest.Execute(statement)(t, path+".copy")
			_, err := backup.Verify(t.Context(), path+".copy")
			if want == "" {
				check(t, err)
			} else {
				storetest.WantMessage(t, "Verify", err, want+": undo the change, or restore a backup without it")
			}
		})
	}
}
