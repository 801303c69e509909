package usecase

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"example.com/petstore/domain"
)

// A request is what once needs to know of an act to recognise its repetitions.
type request struct {
	operation string
	command   any
	key       domain.IdempotencyKey
	at        time.Time
}

// once runs act in a transaction. Under an idempotency key it runs it once: the
// claim of the key, the act and its result become durable together, and a
// repetition gets that result and true. A failed act leaves the key unused.
func once[T any](
	ctx context.Context, tx domain.Transactor, req request,
	act func(context.Context, domain.Repositories) (T, error),
) (result T, replayed bool, err error) {
	claim, err := req.claim()
	if err != nil {
		return result, false, err
	}
	err = tx.InTx(ctx, func(ctx context.Context, r domain.Repositories) (err error) {
		if req.key.IsZero() {
			result, err = act(ctx, r)
			return err
		}
		earlier, claimed, err := r.Idempotency.Claim(ctx, claim)
		if err != nil {
			return err
		}
		if replayed = !claimed; replayed {
			return replay(claim, earlier, &result)
		}
		if result, err = act(ctx, r); err != nil {
			return err
		}
		encoded, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encode the result of %s: %w", req.operation, err)
		}
		return r.Idempotency.Complete(ctx, req.key, encoded)
	})
	return result, replayed && err == nil, err
}

// claim is the request as the store remembers it. Two requests are the same when
// operation and values are: the order of members or white space never mattered.
func (r request) claim() (domain.Claim, error) {
	if r.key.IsZero() {
		return domain.Claim{}, nil
	}
	if err := r.key.Validate(); err != nil {
		return domain.Claim{}, err
	}
	values, err := json.Marshal(r.command)
	if err != nil {
		return domain.Claim{}, fmt.Errorf("encode the values of %s: %w", r.operation, err)
	}
	return domain.Claim{
		IdempotencyKey: r.key,
		Fingerprint:    sha256.Sum256(fmt.Appendf(nil, "%s %s", r.operation, values)),
		At:             r.at,
	}, nil
}

// replay decodes into result what an earlier request with the same key gave.
func replay[T any](claim domain.Claim, earlier domain.Outcome, result *T) error {
	if earlier.Fingerprint != claim.Fingerprint {
		return domain.IdempotencyKeyReused()
	}
	if earlier.Result == nil {
		return domain.IdempotencyInProgress()
	}
	if err := json.Unmarshal(earlier.Result, result); err != nil {
		return fmt.Errorf("decode the remembered result of an idempotency key: %w", err)
	}
	return nil
}
