//go:build cgo

package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/sqlite/backup"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/testkit"
)

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
		"order without its animal": {func(t *testing.T, path string) {
			sqlitetest.NewStore(t, path, "")
			sqlitetest.Execute("INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES (7, 'placed', 0, 0)")(t, path)
		}, "the animal of the order 1 is missing"},
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
			testkit.WantMessage(t, "the error", err, test.want, path)
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
	testkit.Equal(t, "the number of pets", int64(1), contents.Pets)
	check(t, os.Link(path, path+".linked")) // the WAL of the store is not beside this name
	_, err := sqlitetest.Copy(t.Context(), path+".linked", sqlitetest.NewPath(t))
	testkit.WantMessage(t, "the error", err, "a second name, a hard link")
}

func TestCopyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	ctx, cancel := context.WithCancel(t.Context())
	file, err := os.Create(sqlitetest.NewPath(t))
	check(t, err)
	defer file.Close()
	_, err = backup.Copy(ctx, path, file, func(int, int) { cancel() })
	testkit.WantError(t, "the error", err, context.Canceled)
}
