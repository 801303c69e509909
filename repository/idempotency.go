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
	claims         *coalesced[domain.Claim, bool]
	results        *coalesced[keyResult, struct{}]
	claimed        map[domain.IdempotencyKey]domain.Claim // by functions whose statements are coalesced
	deletedExpired bool
}

// A keyResult is the result of the request that claimed a key.
type keyResult struct {
	domain.IdempotencyKey
	result []byte
}

func newIdempotency(s session, changes *changes, c *coalescer) *idempotency {
	i := &idempotency{session: s, changes: changes, coalescer: c, claimed: map[domain.IdempotencyKey]domain.Claim{}}
	i.claims = newCoalesced(c, i.insertOne, i.insertMany)
	i.results = newCoalesced(c, i.setResult, i.setResults)
	return i
}

func (i *idempotency) Claim(ctx context.Context, claim domain.Claim) (domain.Outcome, bool, error) {
	if err := i.deleteExpired(ctx, claim.At.Add(-domain.IdempotencyTTL).UnixMilli()); err != nil {
		return domain.Outcome{}, false, err
	}
	if err := i.waitForSameKey(claim); err != nil {
		return domain.Outcome{}, false, err
	}
	claimed, err := i.claims.do(ctx, claim)
	if claimed {
		i.changes.markDirty(1)
	}
	if err != nil || claimed {
		return domain.Outcome{}, claimed, err
	}
	earlier, err := queryOne(ctx, i.session, scanOutcome,
		"SELECT fingerprint, result FROM idempotency_keys WHERE caller = ? AND value = ?", claim.Caller, claim.Value)
	return earlier, false, err
}

// waitForSameKey waits for the other functions if one has claimed the same key: claim must
// find its result.
func (i *idempotency) waitForSameKey(claim domain.Claim) error {
	if !i.coalescer.enabled {
		return nil
	}
	if _, found := i.claimed[claim.IdempotencyKey]; found {
		return i.coalescer.wait(otherFunctions)
	}
	i.claimed[claim.IdempotencyKey] = claim
	return nil
}

// replaceExpired follows an INSERT of claims, and makes it replace claims that are expired.
const replaceExpired = `
	ON CONFLICT (caller, value) DO UPDATE SET fingerprint = excluded.fingerprint, result = NULL, claimed_at = excluded.claimed_at
	WHERE idempotency_keys.claimed_at <= excluded.claimed_at - ?`

func (i *idempotency) insertOne(ctx context.Context, claim domain.Claim) (claimed bool, err error) {
	rows, err := i.execDirect(ctx, "INSERT INTO idempotency_keys (caller, value, fingerprint, claimed_at) VALUES (?, ?, ?, ?)"+replaceExpired,
		claim.Caller, claim.Value, claim.Fingerprint[:], claim.At.UnixMilli(), domain.IdempotencyTTL.Milliseconds())
	return rows == 1, err
}

func (i *idempotency) insertMany(ctx context.Context, claims []domain.Claim) (claimed []bool, err error) {
	args := append(claimColumns(claims), domain.IdempotencyTTL.Milliseconds())
	keys, err := query(ctx, i.session, scanIdempotencyKey, len(claims), `
		INSERT INTO idempotency_keys (caller, value, fingerprint, claimed_at)
		SELECT * FROM unnest(?::text[], ?::text[], ?::bytea[], ?::bigint[])`+replaceExpired+" RETURNING caller, value", args...)
	inserted := make(map[domain.IdempotencyKey]bool, len(keys))
	for _, key := range keys {
		inserted[key] = true
	}
	for _, claim := range claims {
		claimed = append(claimed, inserted[claim.IdempotencyKey])
	}
	return claimed, err
}

func scanIdempotencyKey(r *row) (key domain.IdempotencyKey, err error) {
	err = r.scan(&key.Caller, &key.Value)
	return key, err
}

// claimColumns returns the columns caller, value, fingerprint and claimed_at of claims.
func claimColumns(claims []domain.Claim) []any {
	n := len(claims)
	callers, values, fingerprints, times := make([]string, n), make([]string, n), make([][]byte, n), make([]int64, n)
	for i, claim := range claims {
		callers[i], values[i], fingerprints[i], times[i] = claim.Caller, claim.Value, claims[i].Fingerprint[:], claim.At.UnixMilli()
	}
	return []any{callers, values, fingerprints, times}
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
	_, err := i.results.do(ctx, keyResult{key, result})
	return err
}

func (i *idempotency) setResult(ctx context.Context, r keyResult) (_ struct{}, err error) {
	_, err = i.execDirect(ctx, "UPDATE idempotency_keys SET result = ? WHERE caller = ? AND value = ?", r.result, r.Caller, r.Value)
	return struct{}{}, err
}

// setResults updates claims that exist. It is an INSERT because ON CONFLICT always finds
// a row through the index. An UPDATE that joins the rows may read the whole table.
func (i *idempotency) setResults(ctx context.Context, all []keyResult) (_ []struct{}, err error) {
	claims, results := make([]domain.Claim, len(all)), make([][]byte, len(all))
	for n, r := range all {
		claims[n], results[n] = i.claimed[r.IdempotencyKey], r.result
	}
	_, err = i.execDirect(ctx, `INSERT INTO idempotency_keys (caller, value, fingerprint, claimed_at, result)
		SELECT * FROM unnest(?::text[], ?::text[], ?::bytea[], ?::bigint[], ?::bytea[])
		ON CONFLICT (caller, value) DO UPDATE SET result = excluded.result`, append(claimColumns(claims), results)...)
	return make([]struct{}, len(all)), err
}
