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
		"DROP INDEX orders_live; CREATE INDEX orders_live ON orders (pet_id)":                   "the index orders_live is another one",
		"CREATE TRIGGER again AFTER INSERT ON orders BEGIN DELETE FROM orders; END":             "the trigger again was added",
		"CREATE VIEW goose_db_version_2 AS SELECT 1; DROP TABLE imports":                        "the table imports is missing, the view goose_db_version_2 was added",
		"CREATE INDEX pets_name ON pets (name); CREATE TABLE notes (text)":                      "",
		"ALTER TABLE pets ADD COLUMN price INTEGER":                                             "the table pets is another one",
		"CREATE TABLE _litestream_lock (id INTEGER); CREATE TABLE _litestream_seq (id INTEGER)": "",
		"ANALYZE": "",
		"DELETE FROM goose_db_version WHERE version_id > 3":                                                                         "the schema is not that of version 3, the table api_keys is another one, the trigger orders_added was added, the trigger orders_updated was added, the trigger pets_added was added, the trigger pets_updated was added",
		sqlitetest.ToVersion3 + "DROP TABLE imports; DROP TABLE unfinished_copy; DELETE FROM goose_db_version WHERE version_id > 1": "",
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
