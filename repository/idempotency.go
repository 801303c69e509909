package repository

import (
	"context"
	"database/sql"
	"math"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/internal/port"
)

// idempotency implements port.IdempotencyRepository.
type idempotency struct{ *transaction }

// Claim stores nothing. Until this transaction ends, no other transaction can write, so none can claim the key. Claim
// deletes an expired claim of the key.
func (i idempotency) Claim(ctx context.Context, claim port.Claim) (port.Outcome, bool, error) {
	db := i.db.WithContext(ctx)
	if err := i.store.claimClock.set(db); err != nil {
		return port.Outcome{}, false, err
	}
	earlier, known := i.ahead.claims[claim.IdempotencyKey]
	if !known {
		var found []*claimModel
		if err := db.Where("caller = ? AND value = ?", claim.Caller, claim.Value).Find(&found).Error; err != nil {
			return port.Outcome{}, false, err
		}
		if len(found) > 0 {
			earlier = found[0]
		}
	}
	if earlier != nil && earlier.ClaimedAt > i.store.claimClock.expired() {
		outcome, err := earlier.outcome()
		return outcome, false, err
	}
	if earlier != nil {
		if err := i.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Delete(earlier) }); err != nil {
			return port.Outcome{}, false, err
		}
	}
	i.ahead.claims[claim.IdempotencyKey] = nil
	return port.Outcome{}, true, nil
}

// Complete collects the claim. Then no other call of the batch can claim the key: all of them become durable together.
func (i idempotency) Complete(_ context.Context, claim port.Claim, result []byte) error {
	if err := i.collects(); err != nil {
		return err
	}
	model := &claimModel{claim.Caller, claim.Value, claim.Fingerprint[:], result, i.store.claimClock.now}
	i.claims = append(i.claims, model)
	i.ahead.claims[claim.IdempotencyKey] = model
	return nil
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
	now int64     // milliseconds
	at  time.Time // when the clock was set

	expiredClaims int // how many claims had expired when the clock was set, without those that were deleted since
}

const (
	// claimInterval is how long the clock stands still: claims within it get the same time.
	claimInterval = time.Minute
	// maxClaimGap is the time that counts if nothing was claimed for longer.
	maxClaimGap = time.Hour
)

// stale reports whether the clock must be set.
func (c *claimClock) stale() bool { return time.Since(c.at) >= claimInterval }

// set sets the clock if it is stale.
func (c *claimClock) set(db *gorm.DB) error {
	if !c.stale() {
		return nil
	}
	var newest sql.NullInt64
	if err := db.Model(&claimModel{}).Select("max(claimed_at)").Find(&newest).Error; err != nil {
		return err
	}
	c.advance(newest)
	if err := db.Raw(countExpired, c.expired(), maxCounted).Find(&c.expiredClaims).Error; err != nil {
		return err
	}
	if c.expiredClaims == maxCounted { // or more
		c.expiredClaims = math.MaxInt
	}
	return nil
}

// advance sets the clock. newest is the time of the newest claim, NULL if there is no claim. If that is not
// the time of this clock, another process has claimed a key, or this process has claimed none: the clock
// then takes the time of the newest claim.
func (c *claimClock) advance(newest sql.NullInt64) {
	now := time.Now() //nolint:forbidigo // for a duration
	switch {
	case !newest.Valid:
		c.now = now.UnixMilli()
	case newest.Int64 == c.now:
		c.now += min(now.Sub(c.at), maxClaimGap).Milliseconds()
	default:
		c.now = newest.Int64
	}
	c.at = now
}

// expired returns the latest time that an expired claim can have.
func (c *claimClock) expired() int64 {
	return c.now - (port.IdempotencyTTL + maxClaimGap + claimInterval).Milliseconds()
}

// expiredPerDelete is more than a transaction inserts, so the table shrinks to the claims that have not expired.
const expiredPerDelete = 512

// maxCounted is the maximum number of expired claims that are counted, which takes some milliseconds.
const maxCounted = 100_000

const (
	countExpired        = "SELECT count(*) FROM (SELECT 1 FROM idempotency_keys WHERE claimed_at <= ? LIMIT ?) AS expired"
	deleteExpiredClaims = `DELETE FROM idempotency_keys WHERE (caller, value) IN
		(SELECT caller, value FROM idempotency_keys WHERE claimed_at <= $1 ORDER BY claimed_at LIMIT $2)`
)

// deleteExpired deletes some expired claims, in each transaction that has claimed a key, until those are deleted that had
// expired when the clock was set.
func (t *transaction) deleteExpired() error {
	clock := &t.store.claimClock
	if len(t.claims) == 0 || clock.expiredClaims <= 0 {
		return nil
	}
	clock.expiredClaims -= expiredPerDelete
	return t.begun.Queue(deleteExpiredClaims, clock.expired(), expiredPerDelete)
}
