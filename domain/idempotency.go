package domain

import (
	"crypto/sha256"
	"time"
)

// IdempotencyTTL is how long a key answers with its first result.
const IdempotencyTTL = 24 * time.Hour

// MaxIdempotencyKey is the length of the longest idempotency key in characters.
const MaxIdempotencyKey = 255

// An IdempotencyKey marks the repetitions of one request: Value is chosen by the
// client, Caller is whoever sent it, so that two callers never meet in one key.
// The zero value marks nothing.
type IdempotencyKey struct {
	Caller string
	Value  string
}

// IsZero reports whether the request came without a key.
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

// A Fingerprint tells whether two requests ask for the same: the SHA-256 of the
// operation and its values.
type Fingerprint [sha256.Size]byte

// A Claim takes an idempotency key for one request at one moment.
type Claim struct {
	IdempotencyKey
	Fingerprint Fingerprint
	At          time.Time
}

// An Outcome is what a claimed key stands for: the request that claimed it and
// its result as once encoded it, nil as long as there is none.
type Outcome struct {
	Fingerprint Fingerprint
	Result      []byte
}

// IdempotencyKeyReused is the ErrReused for a key that was sent before with another request.
func IdempotencyKeyReused() error {
	return &Error{
		Kind: ErrReused, Code: CodeIdempotencyKeyReused,
		Message: "this Idempotency-Key was sent before with another request",
	}
}

// IdempotencyInProgress is the ErrConflict for a key whose first request has no result yet.
func IdempotencyInProgress() error {
	return &Error{
		Kind: ErrConflict, Code: CodeIdempotencyInProgress,
		Message: "the first request with this Idempotency-Key has no result yet, try again",
	}
}
