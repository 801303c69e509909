package repository

import (
	"context"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository/groupcommit"
)

// idempotency implements port.IdempotencyRepository.
type idempotency struct {
	session
	finds          *groupcommit.Statement[domain.IdempotencyKey, *claimModel]
	inserts        *groupcommit.Statement[claimModel, struct{}]
	claimed        map[domain.IdempotencyKey]bool // by functions of the batch
	deletedExpired bool
}

func newIdempotency(s session) *idempotency {
	i := &idempotency{session: s, claimed: map[domain.IdempotencyKey]bool{}}
	i.finds = groupcommit.NewStatement(s.tx, i.find)
	i.inserts = groupcommit.NewStatement(s.tx, i.insert)
	return i
}

// Claim stores nothing: no other transaction can write, and so claim the key, until this one
// ends.
func (i *idempotency) Claim(ctx context.Context, claim port.Claim) (port.Outcome, bool, error) {
	if i.claimed[claim.IdempotencyKey] { // by another function, whose result this one must find
		if err := i.tx.WaitForOthers(); err != nil {
			return port.Outcome{}, false, err
		}
	}
	i.claimed[claim.IdempotencyKey] = true
	earlier, err := i.finds.Do(ctx, claim.IdempotencyKey)
	if err != nil || earlier == nil {
		return port.Outcome{}, err == nil, err
	}
	if earlier.ClaimedAt <= expired(claim) {
		i.tx.MarkDirty(1)
		err := i.db.WithContext(ctx).Where("caller = ? AND value = ?", claim.Caller, claim.Value).Delete(&claimModel{}).Error
		return port.Outcome{}, err == nil, err
	}
	outcome, err := earlier.outcome()
	return outcome, false, err
}

// expired returns the time in milliseconds until which earlier claims are expired.
func expired(claim port.Claim) int64 { return claim.At.Add(-port.IdempotencyTTL).UnixMilli() }

func (i *idempotency) Complete(ctx context.Context, claim port.Claim, result []byte) error {
	i.tx.MarkDirty(1)
	if err := i.deleteExpired(ctx, expired(claim)); err != nil {
		return err
	}
	_, err := i.inserts.Do(ctx, newClaimModel(claim, result))
	return err
}

// deleteExpired deletes expired keys, once in a transaction. It deletes more than a transaction
// can add, so the table shrinks to the claims of the last day.
func (i *idempotency) deleteExpired(ctx context.Context, expired int64) error {
	if i.deletedExpired {
		return nil
	}
	i.deletedExpired = true
	db := i.db.WithContext(ctx)
	oldest := db.Model(&claimModel{}).Select("claimed_at").Where("claimed_at <= ?", expired).Order("claimed_at").Limit(512)
	// BETWEEN 0, because PostgreSQL assumes that an unknown upper bound alone selects a third of
	// the table, and would read all of it.
	return db.Where("claimed_at BETWEEN 0 AND (?)", db.Table("(?) AS oldest", oldest).Select("max(claimed_at)")).Delete(&claimModel{}).Error
}
