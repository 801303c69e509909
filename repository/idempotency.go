package repository

import (
	"context"
	"fmt"

	"example.com/petstore/domain"
)

// idempotency implements domain.IdempotencyRepository.
type idempotency struct {
	session
	changes        *changes
	deletedExpired bool
}

func (i *idempotency) Claim(ctx context.Context, claim domain.Claim) (domain.Outcome, bool, error) {
	expired := claim.At.Add(-domain.IdempotencyTTL).UnixMilli()
	if err := i.deleteExpired(ctx, expired); err != nil {
		return domain.Outcome{}, false, err
	}
	claimed, err := i.execDirect(ctx, `INSERT INTO idempotency_keys (caller, value, fingerprint, claimed_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (caller, value) DO UPDATE SET fingerprint = excluded.fingerprint, result = NULL, claimed_at = excluded.claimed_at
		WHERE idempotency_keys.claimed_at <= ?`,
		claim.Caller, claim.Value, claim.Fingerprint[:], claim.At.UnixMilli(), expired)
	i.changes.markDirty(claimed)
	if err != nil || claimed == 1 {
		return domain.Outcome{}, claimed == 1, err
	}
	earlier, err := queryOne(ctx, i.session, scanOutcome,
		"SELECT fingerprint, result FROM idempotency_keys WHERE caller = ? AND value = ?", claim.Caller, claim.Value)
	return earlier, false, err
}

func scanOutcome(r *row) (outcome domain.Outcome, err error) {
	var fingerprint []byte
	err = r.scan(&fingerprint, &outcome.Result)
	if err == nil && copy(outcome.Fingerprint[:], fingerprint) != len(outcome.Fingerprint) {
		err = fmt.Errorf("the fingerprint of an idempotency key has %d bytes", len(fingerprint))
	}
	return outcome, err
}

// deleteExpired deletes expired keys, once in a transaction. It deletes more than a transaction
// can add (maxBatch), so the table shrinks to the claims of the last day.
func (i *idempotency) deleteExpired(ctx context.Context, expired int64) error {
	if i.deletedExpired {
		return nil
	}
	i.deletedExpired = true
	// The LIMIT is no parameter, see list. BETWEEN 0, because PostgreSQL assumes that an
	// unknown upper bound alone selects a third of the table, and would read all of it.
	_, err := i.execDirect(ctx, `DELETE FROM idempotency_keys WHERE claimed_at BETWEEN 0 AND (SELECT max(claimed_at) FROM (
		SELECT claimed_at FROM idempotency_keys WHERE claimed_at <= ? ORDER BY claimed_at LIMIT 512) AS oldest)`, expired)
	return err
}

func (i *idempotency) Complete(ctx context.Context, key domain.IdempotencyKey, result []byte) error {
	_, err := i.execDirect(ctx, "UPDATE idempotency_keys SET result = ? WHERE caller = ? AND value = ?", result, key.Caller, key.Value)
	return err
}
