package repository

import (
	"context"
	"database/sql"
	"time"

	"example.com/petstore/domain/port"
	"example.com/petstore/repository/engine"
)

// idempotency implements port.IdempotencyRepository.
type idempotency struct{ *transaction }

// Claim stores nothing. Until this transaction ends, no other transaction can write, so none can claim the
// key.
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

// findClaims returns the rows with the keys of claims. A row is nil if the key is free or its claim has
// expired.
func (t *transaction) findClaims(ctx context.Context, claims ...port.Claim) ([]*engine.Claim, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	rows := make([]engine.Claim, len(claims))
	for i, claim := range claims {
		rows[i] = newClaimRow(claim)
	}
	if t.claimClock.stale() {
		var newest sql.NullInt64
		if err := t.db.WithContext(ctx).Model(&claimModel{}).Select("max(claimed_at)").Scan(&newest).Error; err != nil {
			return nil, err
		}
		t.claimClock.advance(newest)
	}
	found, err := t.database.FindClaims(ctx, t.pool(), rows)
	if err != nil {
		return nil, translate(t.db, err)
	}
	for i, earlier := range found {
		if earlier != nil && earlier.ClaimedAt <= t.claimClock.expired() {
			found[i] = nil
		}
	}
	return found, nil
}

// A claimClock is the clock by which claims expire. The clock of the machine may jump, so a claimClock adds
// up how long this process runs. Each time it is set, it advances by the time since it was set last, but by
// maxClaimGap at most. The newest claim stores the time, so that all processes continue from it.
//
// The clock may be slow. It may also make a claim too old, by maxClaimGap and claimInterval at most: for
// example, a process that has just started gives its claim the time of the newest claim, and then the clock
// of another process advances by maxClaimGap. So a claim expires only when the clock has advanced by
// IdempotencyTTL, maxClaimGap and claimInterval, together 25 hours and a minute. If claims are rare, that
// takes longer: with one claim a day 26 days, because the clock advances by maxClaimGap a day. If a request
// sets the clock and stores no claim, the next request that sets the clock sets it back to the time of the
// newest claim. The time since that claim then does not count.
type claimClock struct {
	now int64 // milliseconds
	set time.Time
}

const (
	// claimInterval is how long the clock stands still: claims within it get the same time.
	claimInterval = time.Minute
	// maxClaimGap is the time that counts if nothing was claimed for longer.
	maxClaimGap = time.Hour
)

// stale reports whether the clock must be set.
func (c *claimClock) stale() bool { return time.Since(c.set) >= claimInterval }

// advance sets the clock. newest is the time of the newest claim, NULL if there is no claim. If that is not
// the time of this clock, another process has claimed a key, or this process has claimed none: the clock
// then takes the time of the newest claim.
func (c *claimClock) advance(newest sql.NullInt64) {
	now := time.Now() //nolint:forbidigo // for a duration
	switch {
	case !newest.Valid:
		c.now = now.UnixMilli()
	case newest.Int64 == c.now:
		c.now += min(now.Sub(c.set), maxClaimGap).Milliseconds()
	default:
		c.now = newest.Int64
	}
	c.set = now
}

// expired returns the latest time that an expired claim can have.
func (c *claimClock) expired() int64 {
	return c.now - (port.IdempotencyTTL + maxClaimGap + claimInterval).Milliseconds()
}

// insertClaims inserts claims. A claim replaces an expired one with the same key.
func (t *transaction) insertClaims(ctx context.Context, claims []engine.Claim) error {
	if len(claims) == 0 {
		return nil
	}
	t.tx.MarkDirty(1)
	if err := t.deleteExpired(ctx, t.claimClock.expired()); err != nil {
		return err
	}
	for i := range claims {
		claims[i].ClaimedAt = t.claimClock.now
	}
	return translate(t.db, t.database.InsertClaims(ctx, t.pool(), claims))
}

// deleteExpired deletes expired claims, once in each transaction. It deletes more claims than a transaction
// can insert, so the table shrinks to the claims that have not expired.
func (t *transaction) deleteExpired(ctx context.Context, expired int64) error {
	if t.deletedExpired {
		return nil
	}
	t.deletedExpired = true
	db := t.db.WithContext(ctx)
	oldest := db.Model(&claimModel{}).Select("claimed_at").Where("claimed_at <= ?", expired).Order("claimed_at").Limit(512)
	// BETWEEN has the lower bound 0, because PostgreSQL assumes that an unknown upper bound alone selects a
	// third of the table, and would read the whole table.
	return db.Where("claimed_at BETWEEN 0 AND (?)", db.Table("(?) AS oldest", oldest).Select("max(claimed_at)")).Delete(&claimModel{}).Error
}
