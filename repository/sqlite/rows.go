//go:build cgo && unix

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"example.com/petstore/repository/engine"
)

// Select implements engine.Database. SQLite reads the rows of each status through an index, and merges them.
// The limit is a literal: SQLite prepares a statement again when an argument of LIMIT is bound, which takes a
// sixth of the processor time of a page.
func (*database) Select(rows engine.Rows, ids []int64) (query string, args []any) {
	if !rows.Page {
		return rows.WithIDs(ids)
	}
	condition := "id > ?"
	if rows.Newest {
		condition = "id <= ?"
	}
	if rows.Status != "" {
		condition = rows.Status + " IS ? AND " + condition
	}
	if rows.Column != "" {
		condition = rows.Column + " = ? AND " + condition
	}
	statuses := strings.Split(rows.Statuses, ",")
	for _, status := range statuses {
		if rows.Column != "" {
			args = append(args, rows.Value)
		}
		if rows.Status != "" {
			args = append(args, sql.NullString{String: status, Valid: status != "" || !rows.NullStatus})
		}
		args = append(args, ids[0])
	}
	parts := rows.Where(condition) + strings.Repeat(" UNION ALL "+rows.Where(condition), len(statuses)-1)
	return parts + " ORDER BY " + rows.Order() + " LIMIT " + strconv.Itoa(rows.Limit), args
}

// Each row of a creation has an INSERT of its own. The driver caches the prepared statement.

// InsertPets implements engine.Database. It uses LastInsertId, because RETURNING takes four times as long.
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
		const query = "SELECT fingerprint, result, claimed_at FROM idempotency_keys WHERE caller = ? AND value = ?"
		err := tx.QueryRowContext(ctx, query, key.Caller, key.Value).
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
		const query = "INSERT OR REPLACE INTO idempotency_keys (caller, value, fingerprint, result, claimed_at) VALUES (?, ?, ?, ?, ?)"
		_, err := tx.ExecContext(ctx, query, c.Caller, c.Value, c.Fingerprint, c.Result, c.ClaimedAt)
		if err != nil {
			return err
		}
	}
	return nil
}
