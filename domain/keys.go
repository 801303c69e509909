package domain

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// An APIKey is a stored API key. A ReadOnly one may only read. A key without ExpiresAt never
// expires. RevokedAt may be in the future. Times are UTC, in milliseconds.
type APIKey struct {
	ID         int64
	Name       string
	Hash       KeyHash
	LastFour   string
	ReadOnly   bool
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
}

// A NewAPIKey is a key to be stored. Name describes its user to people.
type NewAPIKey struct {
	Name      string
	Hash      KeyHash
	LastFour  string
	ReadOnly  bool
	CreatedAt time.Time
	ExpiresAt *time.Time
}

const (
	// MaxKeyName is the maximum length of a key's name in characters.
	MaxKeyName = 100
	// MaxKeySpan is the maximum lifetime of a key, and the maximum overlap of a rotation.
	MaxKeySpan = 3650 * 24 * time.Hour
	// KeyUseInterval is the resolution of LastUsedAt: one use in each interval is stored.
	KeyUseInterval = time.Minute
)

// KeyNameRule is the rule of a key's name, for error messages.
const KeyNameRule = "must be 1 to 100 characters, not blank, without control characters, also those for the direction of text, or noncharacters such as U+FFFF"

// ValidKeyName reports whether name satisfies KeyNameRule.
func ValidKeyName(name string) bool {
	return validName(name, MaxKeyName) && strings.IndexFunc(name, isBidiControl) < 0
}

// isBidiControl reports whether r changes the direction of the text after it
// (unicode.org/reports/tr9, section 2), which can make a terminal show another text.
func isBidiControl(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// NewKey returns the key to be stored for a secret, which is not ReadOnly. It expires after
// lifetime, or never if lifetime is zero. NewKey returns an ErrInvalid (validation_failed)
// that lists every violation.
func NewKey(name, secret string, now time.Time, lifetime time.Duration) (NewAPIKey, error) {
	hash, ok := HashKey(secret)
	var violations []Violation
	if !ok {
		violations = append(violations, Violation{Field: "key", Rule: "does not have the format of an API key"})
	}
	if !ValidKeyName(name) {
		violations = append(violations, Violation{Field: "name", Rule: KeyNameRule})
	}
	if lifetime < 0 || lifetime > MaxKeySpan {
		violations = append(violations, Violation{Field: "lifetime", Rule: "must be at most 3650 days"})
	}
	if err := Invalid(CodeValidationFailed, violations...); err != nil {
		return NewAPIKey{}, err
	}
	key := NewAPIKey{Name: name, Hash: hash, LastFour: secret[len(secret)-4:], CreatedAt: now}
	if lifetime > 0 {
		end := now.Add(lifetime)
		key.ExpiresAt = &end
	}
	return key, nil
}

// A KeyState is whether a key is valid, and if not, why.
type KeyState string

// The states of a key. A revoked key stays revoked when it expires.
const (
	KeyActive  KeyState = "active"
	KeyExpired KeyState = "expired"
	KeyRevoked KeyState = "revoked"
)

// State returns the state of the key at now. RevokedAt and ExpiresAt are the first times at
// which the key is not valid. A key that was revoked at its creation or before is revoked
// at any time, because the clock had been set back.
func (k APIKey) State(now time.Time) KeyState {
	switch {
	case k.RevokedAt != nil && (!now.Before(*k.RevokedAt) || !k.RevokedAt.After(k.CreatedAt)):
		return KeyRevoked
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return KeyExpired
	default:
		return KeyActive
	}
}

// Usable reports whether the key may be used at now: not revoked and not expired.
func (k APIKey) Usable(now time.Time) bool { return k.State(now) == KeyActive }

// NeedsLastUsedUpdate reports whether a use at now must be stored: LastUsedAt is at least a
// KeyUseInterval earlier.
func (k APIKey) NeedsLastUsedUpdate(now time.Time) bool {
	return k.LastUsedAt == nil || now.Sub(*k.LastUsedAt) >= KeyUseInterval
}

// Successor returns the key to be stored for a secret that replaces that of k from now on,
// with the same name, lifetime and ReadOnly.
func (k APIKey) Successor(secret string, now time.Time) (NewAPIKey, error) {
	var lifetime time.Duration
	if k.ExpiresAt != nil {
		lifetime = k.ExpiresAt.Sub(k.CreatedAt)
	}
	successor, err := NewKey("successor", secret, now, lifetime)
	successor.Name, successor.ReadOnly = k.Name, k.ReadOnly // a name that was valid when k was created, by older rules
	return successor, err
}

// ValidateOverlap returns an ErrInvalid (validation_failed) unless overlap, for which a
// rotated key stays valid, is 0 to MaxKeySpan.
func ValidateOverlap(overlap time.Duration) error {
	if overlap < 0 || overlap > MaxKeySpan {
		return Invalid(CodeValidationFailed, Violation{Field: "overlap", Rule: "must be 0 to 3650 days"})
	}
	return nil
}

// NotRotatable returns the ErrConflict for a key that cannot be rotated at now: it is not
// valid, or it was rotated before. Like APIKeyNotFound it has no Code, because no
// operation of the API returns it.
func (k APIKey) NotRotatable(now time.Time) error {
	reason := string(k.State(now))
	if k.Usable(now) {
		reason = "about to be revoked"
	}
	return &Error{Kind: ErrConflict, Message: fmt.Sprintf("the API key with the id %d is %s and cannot be rotated", k.ID, reason)}
}

// APIKeyNotFound returns the ErrNotFound for a key that was never issued.
func APIKeyNotFound(id int64) error {
	return &Error{Kind: ErrNotFound, Message: fmt.Sprintf("there is no API key with the id %d", id)}
}

// MissingAPIKey returns the ErrUnauthenticated for a request without a key.
func MissingAPIKey() error {
	return &Error{
		Kind: ErrUnauthenticated, Code: CodeMissingAPIKey,
		Message: "an API key is required: send the header Authorization: Bearer <API_KEY>",
	}
}

// InvalidAPIKey returns the ErrUnauthenticated for a key that is not valid. It is the same
// for an unknown, a revoked and an expired key.
func InvalidAPIKey() error {
	return &Error{Kind: ErrUnauthenticated, Code: CodeInvalidAPIKey, Message: "the API key is not valid"}
}

// ReadOnlyAPIKey returns the ErrForbidden for a request with a ReadOnly key that does not
// only read.
func ReadOnlyAPIKey() error {
	return Forbidden("this API key may only read: use one that was created without --read-only")
}
