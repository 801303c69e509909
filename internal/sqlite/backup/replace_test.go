//go:build cgo

package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/sqlite/backup"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/testkit"
)

var check = testkit.Check

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, time.November, 21, 18, 30, 0, 0, time.UTC)

const suffix = ".replaced-20261121T183000.000Z"

// TestReplaceIsWholeAfterEachStep ends Replace before each of its steps. Then either the previous or the
// new store is at the path. The previous store has two pets, one of them in the WAL of a crash. The new
// store has three. Replace can run again.
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
		replaced, err := backup.Replace(t.Context(), path, with, at.Add(time.Hour), false)
		check(t, err)
		sqlitetest.WantPets(t, path, 3)
		testkit.Equal(t, fmt.Sprintf("step %d: the number of files that were kept", step), 1, len(replaced.Kept))
		sqlitetest.WantPets(t, replaced.Kept[0], want)
	}
}

func TestReplaceRejectsStoreInUseAndKeepsPermissions(t *testing.T) {
	t.Parallel()
	s, path := sqlitetest.OpenWithPet(t)
	sqlitetest.CopyStore(t, path, path+".restored")
	check(t, os.Chmod(path, 0o640))
	wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
	_, err := backup.Replace(t.Context(), path, path+".restored", at, false)
	testkit.WantError(t, "Replace", err, engine.ErrInUse)
	wantUnchanged()
	check(t, s.Close())
	_, err = backup.Replace(t.Context(), path, path+".restored", at, false)
	check(t, err)
	info, err := os.Stat(path)
	check(t, err)
	testkit.Equal(t, "the mode", os.FileMode(0o640), info.Mode())
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
			replaced, err := backup.Replace(t.Context(), path, path+".restored", at, false)
			check(t, err)
			var names []string
			for _, name := range replaced.Kept {
				names = append(names, filepath.Base(name))
			}
			testkit.Equal(t, "kept", test.kept, names)
			const header = 100 // the header has the journal mode
			if len(previous) > header && !bytes.Equal(sqlitetest.ReadFile(t, replaced.Kept[0])[header:], previous[header:]) {
				t.Error("the previous file was changed")
			}
			sqlitetest.WantPets(t, path, 1)
		})
	}
}

// The WAL cannot be renamed, because a folder has its new name.
func TestReplaceNamesOnlyFilesThatItHasKept(t *testing.T) {
	t.Parallel()
	path, next := filepath.Join(t.TempDir(), "pets.db"), filepath.Join(t.TempDir(), "next.db")
	sqlitetest.NewStore(t, next, "Ada")
	sqlitetest.WriteFile("commits")(t, path+"-wal")
	check(t, os.Mkdir(path+"-wal"+suffix, 0o700))
	replaced, err := backup.Replace(t.Context(), path, next, at, false)
	if err == nil || !strings.Contains(err.Error(), "rename "+path+"-wal") || len(replaced.Kept) > 0 {
		t.Errorf("got %v and %v, want the error of the WAL and no file", err, replaced.Kept)
	}
}

func TestReplaceRejectsDatabaseOfAnotherProgram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.db")
	sqlitetest.Execute("CREATE TABLE notes (text)")(t, path)
	sqlitetest.NewStore(t, path+".restored", "Rex")
	wantUnchanged := sqlitetest.Unchanged(t, filepath.Dir(path))
	_, err := backup.Replace(t.Context(), path, path+".restored", at, false)
	testkit.WantMessage(t, "the error", err, "the database of another program")
	wantUnchanged()
}
