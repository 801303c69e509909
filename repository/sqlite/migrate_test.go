//go:build cgo

package sqlite_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
)

func TestOpenMigratesStoreWithOlderSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	sqlitetest.Newer(t, path)
	for _, statement := range []string{
		"DROP TABLE imports", "DROP TABLE unfinished_copy", "ALTER TABLE api_keys DROP COLUMN read_only",
		"DELETE FROM goose_db_version WHERE version_id > 1", "INSERT INTO pets (name, category_id) VALUES ('Rex', 1)",
		"INSERT INTO api_keys (name, hash, last_four, created_at) VALUES ('till 1', zeroblob(32), 'last', 0)",
	} {
		sqlitetest.Execute(statement)(t, path)
	}
	store := open(t, filepath.Dir(path), repository.Options{Migrate: true})
	page, err := store.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 1}})
	if err != nil || len(page.Items) != 1 || store.Schema().Version != 4 || store.Schema().Created {
		t.Errorf("got %v, %v, schema version %d and created %t, want one pet, 4 and false", page.Items, err, store.Schema().Version, store.Schema().Created)
	}
	keys, err := store.Keys().List(t.Context())
	if err != nil || len(keys) != 1 || keys[0].ReadOnly {
		t.Errorf("got the keys %+v and %v, want one that may do all", keys, err)
	}
}

func TestDamagedFileIsNotChangedByMigration(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "pets.db")
	s := sqlitetest.Open(t, source)
	t.Cleanup(func() { check(t, s.Close()) })
	sqlitetest.Execute("ALTER TABLE api_keys DROP COLUMN read_only; DELETE FROM goose_db_version WHERE version_id = 4")(t, source)
	path := sqlitetest.CopyOf(t, source)
	sqlitetest.OverwritePage(t, path, "api_keys") // which the migration reads
	before := [...][]byte{sqlitetest.ReadFile(t, path), sqlitetest.ReadFile(t, path+"-wal")}
	_, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err == nil || !strings.HasSuffix(err.Error(), "the database is damaged: restore a backup that is intact") {
		t.Errorf("got the error %v, want that the database is damaged", err)
	}
	sqlitetest.CollectGarbage()
	if !bytes.Equal(before[0], sqlitetest.ReadFile(t, path)) || !bytes.Equal(before[1], sqlitetest.ReadFile(t, path+"-wal")) {
		t.Error("the file or its WAL was changed")
	}
}
