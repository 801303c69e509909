//go:build cgo

package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/storetest"
)

func TestCopyIsOneFile(t *testing.T) {
	t.Parallel()
	path, folder := sqlitetest.NewStoreWithPet(t), t.TempDir()
	sqlitetest.CopyStore(t, sqlitetest.Crash(t, path, "Tom"), filepath.Join(folder, "copy.db"))
	if got := sqlitetest.Files(t, folder); !strings.HasPrefix(got, "copy.db ") || strings.Contains(got, "copy.db-") {
		t.Errorf("got the files\n%.100s\nwant copy.db alone", got)
	}
	sqlitetest.WantPets(t, filepath.Join(folder, "copy.db"), 2)
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
		"other program": {sqlitetest.Execute("CREATE TABLE notes (text)"), "it is the database of another program"},
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
			path := filepath.Join(t.TempDir(), "pets.db")
			test.prepare(t, path)
			_, err := backup.Copy(t.Context(), path, sqlitetest.NewFile(t, filepath.Join(t.TempDir(), "copy.db")), sqlitetest.Ignore)
			storetest.WantMessage(t, "the error", err, test.want, path)
		})
	}
}

// Programs such as rsync --link-dest make hard links to files that have not changed.
func TestCopyReadsBackupWithSecondName(t *testing.T) {
	t.Parallel()
	path, folder := sqlitetest.NewStoreWithPet(t), t.TempDir()
	sqlitetest.CopyStore(t, path, filepath.Join(folder, "backup.db"))
	check(t, os.Link(filepath.Join(folder, "backup.db"), filepath.Join(folder, "linked.db")))
	contents := sqlitetest.CopyStore(t, filepath.Join(folder, "linked.db"), filepath.Join(t.TempDir(), "copy.db"))
	storetest.Equal(t, "the number of pets", int64(1), contents.Pets)
	check(t, os.Link(path, path+".linked")) // beside which the WAL of the store is not found
	_, err := backup.Copy(t.Context(), path+".linked", sqlitetest.NewFile(t, filepath.Join(t.TempDir(), "copy.db")), sqlitetest.Ignore)
	storetest.WantMessage(t, "the error", err, "a second name, a hard link")
}

func TestCopyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := backup.Copy(ctx, path, sqlitetest.NewFile(t, filepath.Join(t.TempDir(), "copy.db")), func(int, int) { cancel() })
	storetest.WantError(t, "the error", err, context.Canceled)
}
