package repository

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// The statements of a POST, in plain SQL on the connection of the transaction: they take GORM 6 to
// 8 times as long. On an engine that batches statements they have the rows of all requests of a
// batch; on SQLite, where a statement takes no round trip, there is one for each row.

// insert inserts animals and returns their ids.
//
// PostgreSQL takes the ids from the sequence first: RETURNING promises no order of its rows.
// SQLite returns no rows, which would take four times as long.
func (p pets) insert(ctx context.Context, news []domain.NewPet) ([]int64, error) {
	if p.database.BatchesStatements() {
		names, categories, statuses := make([]string, len(news)), make([]int64, len(news)), make([]string, len(news))
		for i, pet := range news {
			names[i], categories[i], statuses[i] = pet.Name, pet.CategoryID, string(pet.Status)
		}
		ids := make([]int64, 0, len(news))
		err := queryEach(ctx, p.db, func(rows *sql.Rows) error {
			ids = append(ids, 0)
			return rows.Scan(&ids[len(ids)-1])
		}, `WITH numbered AS (
				SELECT nextval('pets_id_seq') AS id, * FROM unnest($1::text[], $2::bigint[], $3::text[])
					WITH ORDINALITY AS pet (name, category_id, status, n)
			), inserted AS (
				INSERT INTO pets (id, name, category_id, status) SELECT id, name, category_id, NULLIF(status, '') FROM numbered
			)
			SELECT id FROM numbered ORDER BY n`, names, categories, statuses)
		return ids, err
	}
	ids := make([]int64, len(news))
	for i, pet := range news {
		m := newPetModel(pet)
		result, err := p.db.Statement.ConnPool.ExecContext(ctx, "INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)", m.Name, m.CategoryID, m.Status)
		if err == nil {
			ids[i], err = result.LastInsertId()
		}
		if err != nil {
			return nil, translate(p.db, err)
		}
	}
	return ids, nil
}

// find returns the claims of idempotency keys, nil for a key without one.
//
// PostgreSQL finds each key by itself (OFFSET 0), through the primary key. A plan that joins the
// tables may read all keys.
func (i *idempotency) find(ctx context.Context, keys []domain.IdempotencyKey) ([]*claimModel, error) {
	claims := make([]*claimModel, len(keys))
	if i.database.BatchesStatements() {
		callers, values := make([]string, len(keys)), make([]string, len(keys))
		for n, key := range keys {
			callers[n], values[n] = key.Caller, key.Value
		}
		err := queryEach(ctx, i.db, func(rows *sql.Rows) error {
			var n int
			var claim claimModel
			if err := rows.Scan(&n, &claim.Fingerprint, &claim.Result, &claim.ClaimedAt); err != nil {
				return err
			}
			claims[n-1] = &claim
			return nil
		}, `SELECT n, fingerprint, result, claimed_at FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (caller, value, n),
			LATERAL (SELECT * FROM idempotency_keys AS k WHERE k.caller = wanted.caller AND k.value = wanted.value OFFSET 0) AS stored`,
			callers, values)
		return claims, err
	}
	for n, key := range keys {
		var claim claimModel
		err := i.db.Statement.ConnPool.QueryRowContext(ctx,
			"SELECT fingerprint, result, claimed_at FROM idempotency_keys WHERE caller = ? AND value = ?", key.Caller, key.Value).
			Scan(&claim.Fingerprint, &claim.Result, &claim.ClaimedAt)
		switch {
		case err == nil:
			claims[n] = &claim
		case !errors.Is(err, sql.ErrNoRows):
			return nil, translate(i.db, err)
		}
	}
	return claims, nil
}

// insert inserts claims. Its results have no values.
func (i *idempotency) insert(ctx context.Context, claims []claimModel) (_ []struct{}, err error) {
	const into = "INSERT INTO idempotency_keys (caller, value, fingerprint, result, claimed_at) "
	pool, none := i.db.Statement.ConnPool, make([]struct{}, len(claims))
	if i.database.BatchesStatements() {
		n := len(claims)
		callers, values, fingerprints, results, times := make([]string, n), make([]string, n), make([][]byte, n), make([][]byte, n), make([]int64, n)
		for n, c := range claims {
			callers[n], values[n], fingerprints[n], results[n], times[n] = c.Caller, c.Value, c.Fingerprint, c.Result, c.ClaimedAt
		}
		_, err = pool.ExecContext(ctx, into+"SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::bigint[])",
			callers, values, fingerprints, results, times)
		return none, translate(i.db, err)
	}
	for _, c := range claims {
		if _, err := pool.ExecContext(ctx, into+"VALUES (?, ?, ?, ?, ?)", c.Caller, c.Value, c.Fingerprint, c.Result, c.ClaimedAt); err != nil {
			return nil, translate(i.db, err)
		}
	}
	return none, nil
}

// queryEach calls scan for each row of a query.
func queryEach(ctx context.Context, db *gorm.DB, scan func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := db.Statement.ConnPool.QueryContext(ctx, statement, args...)
	if err != nil {
		return translate(db, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return translate(db, rows.Err())
}
