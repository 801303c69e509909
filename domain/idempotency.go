package domain

import (
	"crypto/sha256"
	"time"
)

// IdempotencyTTL is how long a key returns its first result.
const IdempotencyTTL = 24 * time.Hour

// MaxIdempotencyKey is the maximum length of an idempotency key in characters.
const MaxIdempotencyKey = 255

// An IdempotencyKey identifies the retries of one request. The client chooses Value; Caller
// identifies the client, so that two clients never share a key. The zero value is no key.
type IdempotencyKey struct {
	Caller string
	Value  string
}

// IsZero reports whether the request has no key.
func (k IdempotencyKey) IsZero() bool { return k == IdempotencyKey{} }

// Validate returns an ErrInvalid (invalid_idempotency_key) unless Value is 1 to
// MaxIdempotencyKey visible ASCII characters.
func (k IdempotencyKey) Validate() error {
	if len(k.Value) >= 1 && len(k.Value) <= MaxIdempotencyKey && visibleASCII(k.Value) {
		return nil
	}
	return Invalid(CodeInvalidIdempotencyKey, Violation{Field: "Idempotency-Key", Rule: "must be 1 to 255 visible ASCII characters"})
}

func visibleASCII(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// A Fingerprint is the SHA-256 of a request's operation and values. Two requests with the
// same fingerprint are the same.
type Fingerprint [sha256.Size]byte

// A Claim is the first use of an idempotency key by a request.
type Claim struct {
	IdempotencyKey
	Fingerprint Fingerprint
	At          time.Time
}

// An Outcome is the stored state of a claimed key: the fingerprint of its request and the
// encoded result, nil while there is none.
type Outcome struct {
	Fingerprint Fingerprint
	Result      []byte
}

// IdempotencyKeyReused returns the ErrReused for a key that was used for a different request.
func IdempotencyKeyReused() error {
	return &Error{
		Kind: ErrReused, Code: CodeIdempotencyKeyReused,
		Message: "this Idempotency-Key was used before for a different request",
	}
}

// IdempotencyInProgress returns the ErrConflict for a key whose first request has no result yet.
func IdempotencyInProgress() error {
	return &Error{
		Kind: ErrConflict, Code: CodeIdempotencyInProgress,
		Message: "the first request with this Idempotency-Key has no result yet, try again",
	}
}
