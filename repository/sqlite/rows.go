//go:build cgo

package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"example.com/petstore/repository/engine"
)

// The rows of a creation, each with a statement of its own, which the driver has prepared.

// InsertPets implements engine.Database. RETURNING takes four times as long as LastInsertId.
func (*database) InsertPets(ctx context.Context, tx gorm.ConnPool, pets []engine.Pet) error {
	for i, pet := range pets {
		result, err := tx.ExecContext(ctx, "INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)", pet.Name, pet.CategoryID, pet.Status)
		if err == nil {
			pets[i].ID, err = result.LastInsertId()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// FindClaims implements engine.Database.
func (*database) FindClaims(ctx context.Context, tx gorm.ConnPool, keys []engine.Claim) ([]*engine.Claim, error) {
	found := make([]*engine.Claim, len(keys))
	for i, key := range keys {
		err := tx.QueryRowContext(ctx, "SELECT fingerprint, result, claimed_at FROM idempotency_keys WHERE caller = ? AND value = ?", key.Caller, key.Value).
			Scan(&key.Fingerprint, &key.Result, &key.ClaimedAt)
		if err == nil {
			found[i] = &key
		} else if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
	}
	return found, nil
}

// InsertClaims implements engine.Database.
func (*database) InsertClaims(ctx context.Context, tx gorm.ConnPool, claims []engine.Claim) error {
	for _, c := range claims {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO idempotency_keys (caller, value, fingerprint, result, claimed_at) VALUES (?, ?, ?, ?, ?)",
			c.Caller, c.Value, c.Fingerprint, c.Result, c.ClaimedAt)
		if err != nil {
			return err
		}
	}
	return nil
}
