//go:build cgo

package backup_test

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite/backup"
	"example.com/petstore/repository/sqlite/internal/sqlitetest"
)

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
				_, err := db.ExecContext(t.Context(), `INSERT INTO api_keys (id, name, hash, last_four, created_at, expires_at, revoked_at)
					VALUES (?, 'till', randomblob(32), 'last', ?, ?, ?)`, id, created, expires, revoked)
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
	testkit.Equal(t, "the keys", want, got)
	if len(want) == 0 || replaced.KeysErr == nil {
		t.Errorf("got the error %v and %d keys, want both", replaced.KeysErr, len(want))
	}
	file, err := os.OpenFile(with+".revoked", os.O_RDWR, 0)
	check(t, err)
	defer file.Close()
	revoked, err := backup.RevokeKeys(t.Context(), file, now)
	testkit.Equal(t, "the number of keys that were revoked", notRevoked, revoked, err)
}
