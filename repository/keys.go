package repository

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"example.com/petstore/domain"
)

// keys implements domain.KeyRepository.
type keys struct {
	session
	changes *changes // of the transaction, nil outside one
}

const selectKeys = "SELECT id, hash, name, last_four, read_only, created_at, expires_at, revoked_at, last_used_at FROM api_keys"

func scanKey(r *row) (domain.APIKey, error) {
	var key domain.APIKey
	var hash []byte
	var readOnly, created int64
	var expires, revoked, lastUsed *int64
	err := r.scan(&key.ID, &hash, &key.Name, &key.LastFour, &readOnly, &created, &expires, &revoked, &lastUsed)
	if err == nil && copy(key.Hash[:], hash) != len(key.Hash) {
		err = fmt.Errorf("the hash of the API key %d has %d bytes", key.ID, len(hash))
	}
	key.ReadOnly = readOnly != 0
	key.CreatedAt, key.ExpiresAt, key.RevokedAt, key.LastUsedAt = timeOf(created), timePtr(expires), timePtr(revoked), timePtr(lastUsed)
	return key, err
}

func (k keys) FindByHash(ctx context.Context, hash domain.KeyHash) (domain.APIKey, error) {
	key, err := queryOne(ctx, k.session, scanKey, selectKeys+" WHERE hash = ?", hash[:])
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.InvalidAPIKey()
	}
	return key, err
}

func (k keys) List(ctx context.Context) ([]domain.APIKey, error) {
	return query(ctx, k.session, scanKey, 0, selectKeys+" ORDER BY id")
}

func (k keys) Get(ctx context.Context, id int64) (domain.APIKey, error) {
	key, err := queryOne(ctx, k.session, scanKey, selectKeys+" WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.APIKeyNotFound(id)
	}
	return key, err
}

func (k keys) Create(ctx context.Context, key domain.NewAPIKey) (bool, error) {
	created, err := k.execDirect(ctx, `INSERT INTO api_keys (name, hash, last_four, read_only, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (hash) DO NOTHING`,
		key.Name, key.Hash[:], key.LastFour, asInt(key.ReadOnly), key.CreatedAt.UnixMilli(), millisPtr(key.ExpiresAt))
	k.changes.markKeysChanged(created)
	return created == 1, err
}

func (k keys) Any(ctx context.Context) (bool, error) {
	ids, err := query(ctx, k.session, scanID, 1, "SELECT id FROM api_keys LIMIT 1")
	return len(ids) > 0, err
}

func (k keys) Revoke(ctx context.Context, id int64, at time.Time) (bool, error) {
	revoked, err := k.set(ctx, "revoked_at", notBefore("created_at", at),
		"id = ? AND (revoked_at IS NULL OR revoked_at > ? AND revoked_at > created_at)", id, at.UnixMilli())
	k.changes.markKeysChanged(revoked)
	return revoked == 1, err
}

func (k keys) ScheduleRevocation(ctx context.Context, id int64, now time.Time, overlap time.Duration) (bool, error) {
	at := gorm.Expr("? + ?", notBefore("created_at", now), overlap.Milliseconds())
	scheduled, err := k.set(ctx, "revoked_at", at,
		"id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", id, now.UnixMilli())
	k.changes.markKeysChanged(scheduled)
	return scheduled == 1, err
}

func (k keys) SetLastUsed(ctx context.Context, id int64, at time.Time) error {
	updated, err := k.set(ctx, "last_used_at", notBefore("created_at", at),
		"id = ? AND (last_used_at IS NULL OR last_used_at <= ?)", id, at.Add(-domain.KeyUseInterval).UnixMilli())
	k.changes.markDirty(updated)
	return err
}

// set sets a column of the key if a condition holds, and returns the number of keys that
// it updated.
func (k keys) set(ctx context.Context, column string, value clause.Expr, condition string, args ...any) (int64, error) {
	done := k.gorm(ctx).Table("api_keys").Where(condition, args...).Update(column, value)
	return done.RowsAffected, translate(k.database, done.Error)
}
