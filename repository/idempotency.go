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
	coalescer      *coalescer
	finds          *coalesced[domain.IdempotencyKey, *storedOutcome]
	inserts        *coalesced[completion, struct{}]
	claimed        map[domain.IdempotencyKey]bool // by functions whose statements are coalesced
	deletedExpired bool
}

// A storedOutcome is the outcome of a claim at a time in milliseconds.
type storedOutcome struct {
	domain.Outcome
	claimedAt int64
	n         int64 // the position of its key in a statement, from 1
}

// A completion is a claim with the result of its request.
type completion struct {
	domain.Claim
	result []byte
}

func newIdempotency(s session, changes *changes, c *coalescer) *idempotency {
	i := &idempotency{session: s, changes: changes, coalescer: c, claimed: map[domain.IdempotencyKey]bool{}}
	i.finds = newCoalesced(c, i.findOne, i.findMany)
	i.inserts = newCoalesced(c, i.insertOne, i.insertMany)
	return i
}

// Claim stores nothing: no other transaction can write, and so claim the key, until this one
// ends.
func (i *idempotency) Claim(ctx context.Context, claim domain.Claim) (domain.Outcome, bool, error) {
	if err := i.waitForSameKey(claim.IdempotencyKey); err != nil {
		return domain.Outcome{}, false, err
	}
	earlier, err := i.finds.do(ctx, claim.IdempotencyKey)
	switch {
	case err != nil:
		return domain.Outcome{}, false, err
	case earlier == nil:
		return domain.Outcome{}, true, nil
	case earlier.claimedAt <= expired(claim):
		_, err := i.execDirect(ctx, "DELETE FROM idempotency_keys WHERE caller = ? AND value = ?", claim.Caller, claim.Value)
		i.changes.markDirty(1)
		return domain.Outcome{}, err == nil, err
	}
	return earlier.Outcome, false, nil
}

// expired returns the time in milliseconds until which earlier claims are expired.
func expired(claim domain.Claim) int64 { return claim.At.Add(-domain.IdempotencyTTL).UnixMilli() }

// waitForSameKey waits for the other functions if one has claimed the same key: the claim
// must find its result.
func (i *idempotency) waitForSameKey(key domain.IdempotencyKey) error {
	if !i.coalescer.enabled {
		return nil
	}
	if i.claimed[key] {
		return i.coalescer.wait(otherFunctions)
	}
	i.claimed[key] = true
	return nil
}

func (i *idempotency) findOne(ctx context.Context, key domain.IdempotencyKey) (*storedOutcome, error) {
	found, err := query(ctx, i.session, scanOutcome, 1,
		"SELECT 1, fingerprint, result, claimed_at FROM idempotency_keys WHERE caller = ? AND value = ?", key.Caller, key.Value)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// findMany finds each key by itself (OFFSET 0), through the primary key. A plan that joins
// the tables may read all keys.
func (i *idempotency) findMany(ctx context.Context, keys []domain.IdempotencyKey) ([]*storedOutcome, error) {
	callers, values := make([]string, len(keys)), make([]string, len(keys))
	for n, key := range keys {
		callers[n], values[n] = key.Caller, key.Value
	}
	found, err := query(ctx, i.session, scanOutcome, 0, `
		SELECT n, fingerprint, result, claimed_at FROM unnest(?::text[], ?::text[]) WITH ORDINALITY AS wanted (caller, value, n),
		LATERAL (SELECT * FROM idempotency_keys AS k WHERE k.caller = wanted.caller AND k.value = wanted.value OFFSET 0) AS stored`,
		callers, values)
	outcomes := make([]*storedOutcome, len(keys))
	for _, outcome := range found {
		outcomes[outcome.n-1] = outcome
	}
	return outcomes, err
}

func scanOutcome(r *row) (*storedOutcome, error) {
	var o storedOutcome
	var fingerprint []byte
	err := r.scan(&o.n, &fingerprint, &o.Result, &o.claimedAt)
	if err == nil && copy(o.Fingerprint[:], fingerprint) != len(o.Fingerprint) {
		err = fmt.Errorf("the fingerprint of an idempotency key has %d bytes", len(fingerprint))
	}
	return &o, err
}

func (i *idempotency) Complete(ctx context.Context, claim domain.Claim, result []byte) error {
	i.changes.markDirty(1)
	if err := i.deleteExpired(ctx, expired(claim)); err != nil {
		return err
	}
	_, err := i.inserts.do(ctx, completion{claim, result})
	return err
}

func (i *idempotency) insertOne(ctx context.Context, c completion) (_ struct{}, err error) {
	_, err = i.execDirect(ctx, "INSERT INTO idempotency_keys (caller, value, fingerprint, result, claimed_at) VALUES (?, ?, ?, ?, ?)",
		c.Caller, c.Value, c.Fingerprint[:], c.result, c.At.UnixMilli())
	return struct{}{}, err
}

func (i *idempotency) insertMany(ctx context.Context, all []completion) (_ []struct{}, err error) {
	n := len(all)
	callers, values, fingerprints, results, times := make([]string, n), make([]string, n), make([][]byte, n), make([][]byte, n), make([]int64, n)
	for i, c := range all {
		callers[i], values[i], fingerprints[i], results[i], times[i] = c.Caller, c.Value, all[i].Fingerprint[:], c.result, c.At.UnixMilli()
	}
	_, err = i.execDirect(ctx, `
		INSERT INTO idempotency_keys (caller, value, fingerprint, result, claimed_at)
		SELECT * FROM unnest(?::text[], ?::text[], ?::bytea[], ?::bytea[], ?::bigint[])`,
		callers, values, fingerprints, results, times)
	return make([]struct{}, n), err
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
