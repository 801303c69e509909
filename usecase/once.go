package usecase

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
)

// A request is a call of an operation. A retry is an equal request.
type request struct {
	operation string
	command   any
	key       domain.IdempotencyKey
}

// once runs fn in a transaction. If the request has an idempotency key, the claim of the key, the changes of fn and the
// result of fn become durable together. A retry then returns the stored result and true, without running fn. If fn fails,
// the key is not claimed. reads is what fn reads.
func once[T any](
	ctx context.Context, tx port.Transactor, req request, reads port.Reads,
	fn func(context.Context, port.Repositories) (T, error),
) (result T, replayed bool, err error) {
	claim, err := req.claim()
	if err != nil {
		return result, false, err
	}
	reads.Claim = claim
	err = tx.InTx(ctx, func(ctx context.Context, r port.Repositories) (err error) {
		if req.key.IsZero() {
			result, err = fn(ctx, r)
			return err
		}
		earlier, claimed, err := r.Idempotency.Claim(ctx, claim)
		if err != nil {
			return err
		}
		if replayed = !claimed; replayed {
			return replay(claim, earlier, &result)
		}
		if result, err = fn(ctx, r); err != nil {
			return err
		}
		encoded, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encode the result of %s: %w", req.operation, err)
		}
		return r.Idempotency.Complete(ctx, claim, encoded)
	}, reads)
	if err != nil {
		return *new(T), false, err
	}
	return result, replayed, nil
}

// claim returns the claim of the key of the request, or the zero Claim if it has no key. Requests are equal if their
// operations and values are equal; the order of the members and the white space in the JSON of the client do not matter.
func (r request) claim() (port.Claim, error) {
	if r.key.IsZero() {
		return port.Claim{}, nil
	}
	if err := r.key.Validate(); err != nil {
		return port.Claim{}, err
	}
	values, err := json.Marshal(r.command)
	if err != nil {
		return port.Claim{}, fmt.Errorf("encode the values of %s: %w", r.operation, err)
	}
	return port.Claim{
		IdempotencyKey: r.key,
		Fingerprint:    sha256.Sum256(fmt.Appendf(nil, "%s %s", r.operation, values)),
	}, nil
}

// replay decodes the result of the first request with the same key. It returns an ErrReused if the first request was
// different.
func replay[T any](claim port.Claim, earlier port.Outcome, result *T) error {
	if earlier.Fingerprint != claim.Fingerprint {
		return idempotencyKeyReused()
	}
	if err := json.Unmarshal(earlier.Result, result); err != nil {
		return fmt.Errorf("decode the stored result of an idempotency key: %w", err)
	}
	return nil
}

// idempotencyKeyReused returns the ErrReused for a key that was used for a different request.
func idempotencyKeyReused() error {
	return &domain.Error{
		Kind: domain.ErrReused, Code: domain.CodeIdempotencyKeyReused,
		Message: "this Idempotency-Key was used before for a different request",
	}
}
