//go:build cgo

package backup_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/sqlite/backup"
	"example.com/petstore/internal/sqlite/storefile"
	"example.com/petstore/internal/test/sqlitetest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
)

// The backup is older than the last change, and the clock of the restore is behind.
func TestReplaceBeginsAtAPositionThatNobodyHasUsed(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	store := sqlitetest.Open(t, path)
	sqlitetest.CopyStore(t, path, path+".restored")
	check(t, store.InTx(t.Context(), storetest.Adding("Ada")))
	last, err := store.Changes().Latest(t.Context())
	check(t, errors.Join(err, store.Close()))
	_, err = backup.Replace(t.Context(), path, path+".restored", time.UnixMilli(1), false)
	check(t, err)
	restored := sqlitetest.Open(t, path)
	for _, after := range []int64{last - 1, last, last + 1} {
		_, err = restored.Changes().List(t.Context(), domain.PageRequest{After: after, Limit: 1})
		testkit.WantError(t, "a position of the previous store", err, domain.ErrExpired)
	}
	page, err := restored.Changes().List(t.Context(), domain.PageRequest{Limit: 1})
	if page.Next <= last || page.Next != page.Latest || len(page.Items) > 0 {
		t.Errorf("got %+v after the position %d", page, last)
	}
	check(t, errors.Join(err, restored.Close()))
}

// The file may have the API keys of an older store.
func TestReplaceReadsNoKeysOfAFileThatWasOverwritten(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	sqlitetest.CopyStore(t, path, path+".restored")
	sqlitetest.Execute("UPDATE store_file SET generation = 7")(t, path) // as after a checkpoint to another store
	replaced, err := backup.Replace(t.Context(), path, path+".restored", at, false)
	check(t, err)
	testkit.WantError(t, "KeysErr", replaced.KeysErr, storefile.ErrOverwritten)
}

func TestReplaceGivesNoIDOutAgain(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	sqlitetest.Execute("UPDATE store SET last_order = 7")(t, path)
	sqlitetest.CopyStore(t, path, path+".restored")
	sqlitetest.Execute("UPDATE store SET last_pet = 5, last_order = 5, last_key = 9")(t, path)
	_, err := backup.Replace(t.Context(), path, path+".restored", at, false)
	check(t, err)
	sqlitetest.NewStore(t, path, "Ada")
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	var got string
	err = db.QueryRowContext(t.Context(), "SELECT last_pet || ' ' || last_order || ' ' || last_key FROM store").Scan(&got)
	testkit.Equal(t, "the last ids", "6 7 9", got, errors.Join(err, db.Close()))
}

func TestReplaceKeepsTheRevocationsAndTheIdentityOfThePreviousStore(t *testing.T) {
	t.Parallel()
	path := sqlitetest.NewStoreWithPet(t)
	const insert = `INSERT INTO api_keys (id, name, hash, last_four, created_at, revoked_at) 
		VALUES (%d, 'till', CAST(printf('%%032d', %[1]d) AS BLOB), 'last', 5, %[2]s);`
	keys := ""
	for id, revoked := range []string{"NULL", "NULL", "9", "NULL"} {
		keys += fmt.Sprintf(insert, id+1, revoked)
	}
	sqlitetest.Execute(keys)(t, path)
	sqlitetest.CopyStore(t, path, path+".backup")
	sqlitetest.Execute("UPDATE api_keys SET revoked_at = id * 10 WHERE id > 1; DELETE FROM api_keys WHERE id = 4")(t, path)
	identity, err := backup.Identity(t.Context(), path)
	testkit.Check(t, err)
	noise := sqlitetest.WriteFile(strings.Repeat("noise ", 1000))
	for i, test := range []struct {
		name         string
		path         string
		revokeKeys   bool
		want         string
		sameIdentity bool
		keysErr      string
	}{
		{name: "the store", path: path, want: `{"1":null,"2":20,"3":9,"4":null}`, sameIdentity: true},
		{name: "the store, with --revoke-keys", path: path, revokeKeys: true, want: `{"1":16,"2":16,"3":9,"4":16}`, sameIdentity: true},
		{
			name:         "a damaged store",
			path:         sqlitetest.NewPath(t),
			want:         `{"1":null,"2":null,"3":9,"4":null}`,
			sameIdentity: true,
			keysErr:      "the replaced store cannot be read (file is not a database)",
		},
		{name: "none", path: sqlitetest.NewPath(t), want: `{"1":null,"2":null,"3":9,"4":null}`, keysErr: "no store was replaced"},
		{
			name:       "none, with --revoke-keys",
			path:       sqlitetest.NewPath(t),
			revokeKeys: true,
			want:       `{"1":19,"2":19,"3":9,"4":19}`,
			keysErr:    "no store was replaced",
		},
	} {
		if test.name == "a damaged store" {
			noise(t, test.path)
		}
		sqlitetest.CopyStore(t, path+".backup", test.path+".restored")
		replaced, err := backup.Replace(t.Context(), test.path, test.path+".restored", time.UnixMilli(15+int64(i)), test.revokeKeys)
		testkit.Check(t, err)
		if test.keysErr != "" {
			testkit.WantMessage(t, test.name, replaced.KeysErr, test.keysErr)
		} else {
			testkit.Check(t, replaced.KeysErr)
		}
		db, err := sql.Open("sqlite3", test.path)
		testkit.Check(t, err)
		var got string
		err = db.QueryRowContext(t.Context(), "SELECT json_group_object(id, revoked_at) FROM api_keys").Scan(&got)
		testkit.Equal(t, test.name+": when the keys are revoked, by id", test.want, got, errors.Join(err, db.Close()))
		restored, err := backup.Identity(t.Context(), test.path)
		testkit.Equal(t, test.name+": whether the identity is the same", test.sameIdentity, restored == identity, err)
	}
}
