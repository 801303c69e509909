package repository

import (
	"context"
	"database/sql"
	"math"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
)

// idempotency implements port.IdempotencyRepository.
type idempotency struct{ *transaction }

// Claim stores nothing. Until this transaction ends, no other transaction can write, so none can claim the
// key.
func (i idempotency) Claim(ctx context.Context, claim port.Claim) (port.Outcome, bool, error) {
	found, err := i.findClaims(ctx, []port.Claim{claim})
	earlier, ok := found[claim.IdempotencyKey]
	return earlier, err == nil && !ok, err
}

func (i idempotency) Complete(_ context.Context, claim port.Claim, result []byte) error {
	return i.insertClaims([]port.Claim{claim}, [][]byte{result})
}

var findClaims = newLookup("SELECT caller, value, fingerprint, result, claimed_at FROM idempotency_keys WHERE caller = $%d AND value = $%d")

// foundClaims are the claims that a transaction has read, by key, nil for a key without a claim.
type foundClaims map[domain.IdempotencyKey]*claimModel

// queries returns the queries that find the claims with the keys of claims. Once all are done, f has what they found.
func (f foundClaims) queries(claims []port.Claim) []engine.Query {
	keys := make([][]any, len(claims))
	for i, claim := range claims {
		keys[i] = []any{claim.Caller, claim.Value}
	}
	m, found := &claimModel{}, foundClaims{}
	return findClaims.queries(keys, m.fields(), func() error {
		claim := *m
		found[domain.IdempotencyKey{Caller: m.Caller, Value: m.Value}] = &claim
		return nil
	}, func() {
		for _, claim := range claims {
			f[claim.IdempotencyKey] = found[claim.IdempotencyKey]
		}
	})
}

// findClaims returns the outcomes of the earlier claims with the keys of claims. It deletes those of them that have expired.
// It reads the claims that the transaction has not read yet.
func (t *transaction) findClaims(ctx context.Context, claims []port.Claim) (map[domain.IdempotencyKey]port.Outcome, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	db := t.db.WithContext(ctx)
	if t.claimClock.stale() {
		var newest sql.NullInt64
		if err := db.Model(&claimModel{}).Select("max(claimed_at)").Find(&newest).Error; err != nil {
			return nil, err
		}
		t.claimClock.advance(newest)
		if err := db.Raw(countExpired, t.claimClock.expired(), maxCounted).Find(&t.claimClock.expiredClaims).Error; err != nil {
			return nil, err
		}
		if t.claimClock.expiredClaims == maxCounted { // or more
			t.claimClock.expiredClaims = math.MaxInt
		}
	}
	found := t.ahead.claims
	var unknown []port.Claim
	for _, claim := range claims {
		if _, known := found[claim.IdempotencyKey]; !known {
			unknown = append(unknown, claim)
		}
	}
	queries := found.queries(unknown)
	for _, q := range queries {
		if err := scan(db.Raw(q.Statement, q.Args...), q.Fields, q.Row); err != nil {
			return nil, err
		}
	}
	for _, q := range queries {
		q.Done()
	}
	earlier := map[domain.IdempotencyKey]port.Outcome{}
	for _, claim := range claims {
		m := found[claim.IdempotencyKey]
		if m == nil {
			continue
		}
		var err error
		if m.ClaimedAt > t.claimClock.expired() {
			earlier[claim.IdempotencyKey], err = m.outcome()
		} else {
			found[claim.IdempotencyKey] = nil
			err = t.queue(ctx, func(db *gorm.DB) *gorm.DB { return db.Delete(m) })
		}
		if err != nil {
			return nil, err
		}
	}
	return earlier, nil
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

	expiredClaims int // how many claims had expired when the clock was set, without those that were deleted since
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

// insertClaim inserts claims. findClaims has deleted an expired one with the same key: with ON CONFLICT, a POST with a key
// would take 4 % longer on PostgreSQL.
var insertClaim = newInsert("idempotency_keys", "caller, value, fingerprint, result, claimed_at", "")

// insertClaims inserts claims with their results, and deletes expired claims.
func (t *transaction) insertClaims(claims []port.Claim, results [][]byte) error {
	if len(claims) == 0 {
		return nil
	}
	t.wrote()
	for _, claim := range claims {
		delete(t.ahead.claims, claim.IdempotencyKey)
	}
	if err := t.deleteExpired(); err != nil {
		return err
	}
	return translate(t.db, insertClaim.rows(t.begun, len(claims), func(i int, to []any) []any {
		return append(to, claims[i].Caller, claims[i].Value, claims[i].Fingerprint[:], results[i], t.claimClock.now)
	}))
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

// deleteExpired deletes some expired claims, once in each transaction, until those are deleted that had expired when the
// clock was set.
func (t *transaction) deleteExpired() error {
	if t.deletedExpired || t.claimClock.expiredClaims <= 0 {
		return nil
	}
	t.deletedExpired = true
	t.claimClock.expiredClaims -= expiredPerDelete
	return translate(t.db, t.begun.Queue(deleteExpiredClaims, t.claimClock.expired(), expiredPerDelete))
}
