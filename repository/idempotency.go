package repository

import (
	"context"

	"example.com/petstore/domain/port"
	"example.com/petstore/repository/engine"
)

// idempotency implements port.IdempotencyRepository.
type idempotency struct{ *transaction }

// Claim stores nothing: no other transaction can write, and so claim the key, until this one
// ends.
func (i idempotency) Claim(ctx context.Context, claim port.Claim) (port.Outcome, bool, error) {
	found, err := i.findClaims(ctx, claim)
	if err != nil || found[0] == nil {
		return port.Outcome{}, err == nil, err
	}
	outcome, err := (*claimModel)(found[0]).outcome()
	return outcome, false, err
}

func (i idempotency) Complete(ctx context.Context, claim port.Claim, result []byte) error {
	row := newClaimRow(claim)
	row.Result = result
	return i.insertClaims(ctx, []engine.Claim{row})
}

// findClaims returns the rows with the keys of claims, nil for a key that is free or whose claim has expired.
func (t *transaction) findClaims(ctx context.Context, claims ...port.Claim) ([]*engine.Claim, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	rows := make([]engine.Claim, len(claims))
	for i, claim := range claims {
		rows[i] = newClaimRow(claim)
	}
	found, err := t.database.FindClaims(ctx, t.pool(), rows)
	if err != nil {
		return nil, translate(t.db, err)
	}
	for i, earlier := range found {
		if earlier != nil && earlier.ClaimedAt <= expired(rows[i]) {
			found[i] = nil
		}
	}
	return found, nil
}

// expired returns the time in milliseconds until which earlier claims than a new one are expired.
func expired(claim engine.Claim) int64 { return claim.ClaimedAt - port.IdempotencyTTL.Milliseconds() }

// insertClaims inserts claims. They replace expired ones.
func (t *transaction) insertClaims(ctx context.Context, claims []engine.Claim) error {
	if len(claims) == 0 {
		return nil
	}
	t.tx.MarkDirty(1)
	if err := t.deleteExpired(ctx, expired(claims[0])); err != nil {
		return err
	}
	return translate(t.db, t.database.InsertClaims(ctx, t.pool(), claims))
}

// deleteExpired deletes expired claims, once in a transaction. It deletes more than a transaction
// can add, so the table shrinks to the claims of the last day.
func (t *transaction) deleteExpired(ctx context.Context, expired int64) error {
	if t.deletedExpired {
		return nil
	}
	t.deletedExpired = true
	db := t.db.WithContext(ctx)
	oldest := db.Model(&claimModel{}).Select("claimed_at").Where("claimed_at <= ?", expired).Order("claimed_at").Limit(512)
	// BETWEEN 0, because PostgreSQL assumes that an unknown upper bound alone selects a third of
	// the table, and would read all of it.
	return db.Where("claimed_at BETWEEN 0 AND (?)", db.Table("(?) AS oldest", oldest).Select("max(claimed_at)")).Delete(&claimModel{}).Error
}
