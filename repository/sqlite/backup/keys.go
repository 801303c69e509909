package backup

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"time"

	"example.com/petstore/repository/sqlite/internal/storefile"
)

// notRevoked is the condition of a key that is not revoked at ?1, as domain.APIKey.State has it.
const notRevoked = "(revoked_at IS NULL OR revoked_at > ?1 AND revoked_at > created_at)"

// RevokeKeys revokes all API keys of the store in a file, which no other process may use, and
// returns how many were not revoked before. It returns when the file is on disk.
func RevokeKeys(ctx context.Context, file *os.File, now time.Time) (revoked int64, err error) {
	conn, closeConn, err := connectOne(ctx, file.Name(), targetPragmas)
	if err != nil {
		return 0, err
	}
	result, err := conn.ExecContext(ctx, "UPDATE api_keys SET revoked_at = max(created_at, ?1) WHERE "+notRevoked, now.UnixMilli())
	if err == nil {
		revoked, err = result.RowsAffected()
	}
	if err := errors.Join(err, closeConn()); err != nil {
		return 0, err
	}
	return revoked, file.Sync()
}

// A Key is an API key of a store.
type Key struct {
	ID   int64
	Name string
	hash string
}

// usableKeys returns the API keys of the store in a file, without its WAL, that are neither revoked
// nor expired at now, ordered by id.
func usableKeys(ctx context.Context, path string, now time.Time) (usable []Key, err error) {
	pool, err := sql.Open("sqlite3", storefile.DSN(path, storefile.ImmutablePragmas))
	if err != nil {
		return nil, err
	}
	defer func() { _ = pool.Close() }()
	rows, err := pool.QueryContext(ctx, `SELECT id, name, hash FROM api_keys
		WHERE (expires_at IS NULL OR expires_at > ?1) AND `+notRevoked+" ORDER BY id", now.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key Key
		if err := rows.Scan(&key.ID, &key.Name, &key.hash); err != nil {
			return nil, err
		}
		usable = append(usable, key)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return usable, nil
}

// previousKeys returns the usable API keys of the previous store, whose WAL has been written to
// its file.
func (r *replacement) previousKeys(ctx context.Context) ([]Key, error) {
	if _, err := os.Stat(r.path); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there was none")
	}
	if storefile.HasWAL(r.path) { // writeWAL has left it
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
	before := map[string]bool{}
	for _, key := range previous {
		before[key.hash] = true
	}
	for _, key := range usable {
		if !before[key.hash] {
			r.result.UsableKeys = append(r.result.UsableKeys, key)
		}
	}
	return nil
}
