package domain

// maxIdempotencyKey is the maximum length of an idempotency key in characters.
const maxIdempotencyKey = 255

// An IdempotencyKey identifies a request and its retries. The client chooses Value. Caller identifies the client, so that
// two clients never share a key. The zero value means that the request has no key.
type IdempotencyKey struct {
	Caller string
	Value  string
}

// IsZero reports whether the request has no key.
func (k IdempotencyKey) IsZero() bool { return k == IdempotencyKey{} }

// Validate returns an ErrInvalid (invalid_idempotency_key) unless Value is 1 to
// maxIdempotencyKey visible ASCII characters.
func (k IdempotencyKey) Validate() error {
	if len(k.Value) >= 1 && len(k.Value) <= maxIdempotencyKey && visibleASCII(k.Value) {
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
