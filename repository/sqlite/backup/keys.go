//go:build cgo

package backup

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// A Key is an API key of a store.
type Key struct {
	ID   int64
	Name string
	hash string
}

// notRevoked is the condition for keys that are not revoked at ?1, see apikey.Key.State.
const notRevoked = "(revoked_at IS NULL OR revoked_at > ?1 AND revoked_at > created_at)"

// RevokeKeys revokes all API keys of the store in a file, which no other process may use, and
// returns how many were not revoked before. It returns when the file is on disk.
func RevokeKeys(ctx context.Context, file *os.File, now time.Time) (revoked int64, err error) {
	pool := storefile.OpenPool(file.Name(), targetPragmas)
	result, err := pool.ExecContext(ctx, "UPDATE api_keys SET revoked_at = max(created_at, ?1) WHERE "+notRevoked, now.UnixMilli())
	if err == nil {
		revoked, err = result.RowsAffected()
	}
	if err := errors.Join(err, pool.Close()); err != nil {
		return 0, sqlite.New(file.Name()).Remedy(err)
	}
	return revoked, file.Sync()
}

// usableKeys returns the API keys of the store in a file, without its WAL, that are neither
// revoked nor expired at now, ordered by id.
func usableKeys(ctx context.Context, path string, now time.Time) (usable []Key, err error) {
	pool := storefile.OpenPool(path, storefile.ImmutablePragmas)
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

// compareKeys finds the API keys that are usable in the new store, but not in the previous one,
// whose WAL has been written to its file.
func (r *replacement) compareKeys(ctx context.Context) error {
	usable, err := usableKeys(ctx, r.with, r.now)
	if err != nil {
		return err
	}
	var previous []Key
	switch {
	case !r.exists:
		r.result.KeysErr = errors.New("there was none")
	case storefile.HasWAL(r.path): // writeWAL has left it
		r.result.KeysErr = errors.New("it is damaged, or has the WAL of another file")
	default:
		previous, r.result.KeysErr = usableKeys(ctx, r.path, r.now)
	}
	before := map[string]bool{}
	for _, key := range previous {
		before[key.hash] = true
	}
	r.result.UsableKeys = slices.DeleteFunc(usable, func(key Key) bool { return before[key.hash] })
	return nil
}
