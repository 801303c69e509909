package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"time"

	"example.com/petstore/domain"
)

// RevokeKeys revokes all API keys of the store in a file, which no other process may use, and
// returns how many were not revoked before. It returns when the file is on disk.
func RevokeKeys(ctx context.Context, file *os.File, now time.Time) (revoked int64, err error) {
	conn, closeConn, err := connectOne(ctx, file.Name(), targetPragmas)
	if err != nil {
		return 0, err
	}
	result, err := conn.ExecContext(ctx, "UPDATE api_keys SET revoked_at = max(created_at, ?1) WHERE revoked_at IS NULL OR revoked_at > ?1 AND revoked_at > created_at", now.UnixMilli())
	if err == nil {
		revoked, err = result.RowsAffected()
	}
	if err := errors.Join(err, closeConn()); err != nil {
		return 0, err
	}
	return revoked, file.Sync()
}

// usableKeys returns the API keys of the store in a file, without its WAL, that are usable at
// now, ordered by id. They have what State needs, their id, hash and name.
func usableKeys(ctx context.Context, path string, now time.Time) (usable []domain.APIKey, err error) {
	pool, err := sql.Open("sqlite3", dsn(path, immutablePragmas))
	if err != nil {
		return nil, err
	}
	defer func() { _ = pool.Close() }()
	rows, err := pool.QueryContext(ctx, "SELECT id, hash, name, created_at, expires_at, revoked_at FROM api_keys ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key domain.APIKey
		var hash []byte
		var created int64
		var expires, revoked *int64
		if err := rows.Scan(&key.ID, &hash, &key.Name, &created, &expires, &revoked); err != nil {
			return nil, err
		}
		copy(key.Hash[:], hash)
		key.CreatedAt, key.ExpiresAt, key.RevokedAt = time.UnixMilli(created), timePtr(expires), timePtr(revoked)
		if key.Usable(now) {
			usable = append(usable, key)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return usable, nil
}

func timePtr(millis *int64) *time.Time {
	if millis == nil {
		return nil
	}
	t := time.UnixMilli(*millis)
	return &t
}

// previousKeys returns the usable API keys of the previous store, whose WAL has been written to
// its file.
func (r *replacement) previousKeys(ctx context.Context) ([]domain.APIKey, error) {
	if _, err := os.Stat(r.path); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there was none")
	}
	if hasWAL(r.path) { // writeWAL has left it
		return nil, errors.New("it is damaged, or has the WAL of another file")
	}
	return usableKeys(ctx, r.path, r.now)
}

// compareKeys finds the API keys that are usable in the new store, but not in the previous one.
func (r *replacement) compareKeys(ctx context.Context) error {
	usable, err := usableKeys(ctx, r.with, r.now)
	if err != nil {
		return err
	}
	previous, err := r.previousKeys(ctx)
	r.result.KeysErr = err
	before := map[domain.KeyHash]bool{}
	for _, key := range previous {
		before[key.Hash] = true
	}
	for _, key := range usable {
		if !before[key.Hash] {
			r.result.UsableKeys = append(r.result.UsableKeys, key)
		}
	}
	return nil
}
