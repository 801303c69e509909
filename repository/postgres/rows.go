package postgres

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"example.com/petstore/repository/engine"
)

// The rows of all creations of a batch are written with one statement, because each statement takes a round
// trip.

// InsertPets implements engine.Database. It takes the ids from the sequence first, because an INSERT …
// SELECT with RETURNING promises no order of the returned rows.
func (*database) InsertPets(ctx context.Context, tx gorm.ConnPool, pets []engine.Pet) error {
	names, categories, statuses := make([]string, len(pets)), make([]int64, len(pets)), make([]string, len(pets))
	for i, pet := range pets {
		names[i], categories[i], statuses[i] = pet.Name, pet.CategoryID, pet.Status.String
	}
	next := 0
	return query(ctx, tx, func(rows *sql.Rows) error {
		next++
		return rows.Scan(&pets[next-1].ID)
	}, `WITH numbered AS (
			SELECT nextval('pets_id_seq') AS id, * FROM unnest($1::text[], $2::bigint[], $3::text[])
				WITH ORDINALITY AS pet (name, category_id, status, n)
		), inserted AS (
			INSERT INTO pets (id, name, category_id, status) SELECT id, name, category_id, NULLIF(status, '') FROM numbered
		)
		SELECT id FROM numbered ORDER BY n`, names, categories, statuses)
}

// FindClaims implements engine.Database. It finds each key through the primary key. Without OFFSET 0,
// PostgreSQL could join the tables and read all keys.
func (*database) FindClaims(ctx context.Context, tx gorm.ConnPool, keys []engine.Claim) ([]*engine.Claim, error) {
	callers, values := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		callers[i], values[i] = key.Caller, key.Value
	}
	found := make([]*engine.Claim, len(keys))
	err := query(ctx, tx, func(rows *sql.Rows) error {
		var n int
		var claim engine.Claim
		if err := rows.Scan(&n, &claim.Caller, &claim.Value, &claim.Fingerprint, &claim.Result, &claim.ClaimedAt); err != nil {
			return err
		}
		found[n-1] = &claim
		return nil
	}, `SELECT n, stored.* FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (caller, value, n),
			LATERAL (SELECT k.caller, k.value, fingerprint, result, claimed_at FROM idempotency_keys AS k
				WHERE k.caller = wanted.caller AND k.value = wanted.value OFFSET 0) AS stored`, callers, values)
	return found, err
}

// InsertClaims implements engine.Database.
func (*database) InsertClaims(ctx context.Context, tx gorm.ConnPool, claims []engine.Claim) error {
	n := len(claims)
	callers, values, fingerprints, results, times := make([]string, n), make([]string, n), make([][]byte, n), make([][]byte, n), make([]int64, n)
	for i, c := range claims {
		callers[i], values[i], fingerprints[i], results[i], times[i] = c.Caller, c.Value, c.Fingerprint, c.Result, c.ClaimedAt
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO idempotency_keys (caller, value, fingerprint, result, claimed_at)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::bigint[])
		ON CONFLICT (caller, value) DO UPDATE SET (fingerprint, result, claimed_at) = (excluded.fingerprint, excluded.result, excluded.claimed_at)`,
		callers, values, fingerprints, results, times)
	return err
}

// query calls scan for each row of a query.
func query(ctx context.Context, pool gorm.ConnPool, scan func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := pool.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
