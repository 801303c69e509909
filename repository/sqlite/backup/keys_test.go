//go:build cgo

package backup_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
	"example.com/petstore/repository/storetest"
)

// The rule is in SQL, too.
func TestReplaceReportsTheKeysThatAreUsable(t *testing.T) {
	t.Parallel()
	path, with := filepath.Join(t.TempDir(), "pets.db"), filepath.Join(t.TempDir(), "pets.db")
	sqlitetest.NewStore(t, with, "")
	now := at.Add(time.Millisecond / 2)
	var want []int64
	notRevoked := int64(0)
	db, err := sql.Open("sqlite3", with)
	check(t, err)
	times := []*time.Time{nil}
	for _, offset := range []time.Duration{-time.Hour, -time.Millisecond, 0, time.Millisecond, time.Hour} {
		stored := at.Add(offset)
		times = append(times, &stored)
	}
	millis := func(stored *time.Time) any {
		if stored == nil {
			return nil
		}
		return stored.UnixMilli()
	}
	for _, created := range times[1:] {
		for _, expires := range times {
			for _, revoked := range times {
				result, err := db.ExecContext(t.Context(), "INSERT INTO api_keys (name, hash, last_four, created_at, expires_at, revoked_at) VALUES ('till', randomblob(32), 'last', ?, ?, ?)",
					millis(created), millis(expires), millis(revoked))
				check(t, err)
				id, err := result.LastInsertId()
				check(t, err)
				key := apikey.Key{CreatedAt: *created, ExpiresAt: expires, RevokedAt: revoked}
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
