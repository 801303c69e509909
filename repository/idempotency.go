package repository

import (
	"context"
	"database/sql"

	"example.com/petstore/domain"
)

// idempotency implements domain.IdempotencyRepository.
type idempotency struct {
	session
	effects *effects
	swept   bool
}

func (i *idempotency) Claim(ctx context.Context, claim domain.Claim) (domain.Outcome, bool, error) {
	outlived := claim.At.Add(-domain.IdempotencyTTL).UnixMilli()
	if err := i.sweep(ctx, outlived); err != nil {
		return domain.Outcome{}, false, translate(err)
	}
	claimed, err := i.exec(ctx, `INSERT INTO idempotency_keys (caller, value, fingerprint, claimed_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (caller, value) DO UPDATE SET fingerprint = excluded.fingerprint, result = NULL, claimed_at = excluded.claimed_at
		WHERE idempotency_keys.claimed_at <= ?`,
		claim.Caller, claim.Value, claim.Fingerprint[:], claim.At.UnixMilli(), outlived)
	if err != nil {
		return domain.Outcome{}, false, translate(err)
	}
	rows, err := claimed.RowsAffected()
	i.effects.claim(rows)
	if err != nil || rows == 1 {
		return domain.Outcome{}, rows == 1, err
	}
	earlier, err := readOne(ctx, i.session, outcomeOf, sql.ErrNoRows,
		"SELECT fingerprint, result FROM idempotency_keys WHERE caller = ? AND value = ?", claim.Caller, claim.Value)
	return earlier, false, err
}

func outcomeOf(r *row) domain.Outcome {
	return domain.Outcome{Fingerprint: r.digest(0), Result: r.bytesOrNull(1)}
}

// sweep removes outlived keys, once in a transaction. More than a transaction may add
// (see maxBatch), so that the table shrinks to the claims of the last day by itself.
// Its LIMIT is written out, since SQLite would plan anew for a bare parameter: see list.
func (i *idempotency) sweep(ctx context.Context, outlived int64) error {
	if i.swept {
		return nil
	}
	i.swept = true
	_, err := i.exec(ctx, `DELETE FROM idempotency_keys WHERE (caller, value) IN (
		SELECT caller, value FROM idempotency_keys WHERE claimed_at <= ? ORDER BY claimed_at LIMIT 512)`, outlived)
	return err
}

func (i *idempotency) Complete(ctx context.Context, key domain.IdempotencyKey, result []byte) error {
	_, err := i.exec(ctx, "UPDATE idempotency_keys SET result = ? WHERE caller = ? AND value = ?", result, key.Caller, key.Value)
	return translate(err)
}
