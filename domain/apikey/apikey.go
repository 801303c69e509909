// Package apikey has API keys: their secrets, their rules and their errors.
package apikey

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"example.com/petstore/domain"
)

// A Key is a stored API key. Scopes are the operations that it allows. Lineage is the id of the first key in a chain of
// rotations; for a key that was not created by a rotation it equals ID. A key without ExpiresAt never expires. RevokedAt
// may be in the future. Times are UTC, in milliseconds.
type Key struct {
	ID         int64
	Name       string
	Hash       Hash
	LastFour   string
	Scopes     Scopes
	Lineage    int64
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
}

// A NewKey is a key to be stored. Name says who uses it. Lineage is 0 unless the key is created by a rotation.
type NewKey struct {
	Name      string
	Hash      Hash
	LastFour  string
	Scopes    Scopes
	Lineage   int64
	CreatedAt time.Time
	ExpiresAt *time.Time
}

const (
	// maxName is the maximum length of a key's name in characters.
	maxName = 100
	// MaxSpan is the maximum lifetime of a key, and the maximum overlap of a rotation.
	MaxSpan = 3650 * 24 * time.Hour
	// UseInterval is the resolution of LastUsedAt: at most one use per interval is stored.
	UseInterval = time.Minute
)

// NameRule is the rule for the name of a key, for error messages.
const NameRule = "must be 1 to 100 characters, not blank, without control characters, also those for the direction of text, or " +
	"noncharacters such as U+FFFF"

// ValidName reports whether name satisfies NameRule.
func ValidName(name string) bool {
	return domain.ValidName(name, maxName) && strings.IndexFunc(name, isBidiControl) < 0
}

// isBidiControl reports whether r changes the direction of the text after it (unicode.org/reports/tr9, section 2). Such a
// character can make a terminal show another name.
func isBidiControl(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// New returns a key with a secret, to be stored. The key expires after lifetime, or never if lifetime is zero. Its Scopes
// are empty, so it allows every operation. New returns an ErrInvalid (validation_failed) that lists every violation.
func New(name, secret string, now time.Time, lifetime time.Duration) (NewKey, error) {
	hash, ok := HashOf(secret)
	var violations []domain.Violation
	if !ok {
		violations = append(violations, domain.Violation{Field: "key", Rule: "does not have the format of an API key"})
	}
	if !ValidName(name) {
		violations = append(violations, domain.Violation{Field: "name", Rule: NameRule})
	}
	if lifetime < 0 || lifetime > MaxSpan {
		violations = append(violations, domain.Violation{Field: "lifetime", Rule: "must be at most 3650 days"})
	}
	if err := domain.Invalid(domain.CodeValidationFailed, violations...); err != nil {
		return NewKey{}, err
	}
	key := NewKey{Name: name, Hash: hash, LastFour: secret[len(secret)-4:], CreatedAt: now}
	if lifetime > 0 {
		end := now.Add(lifetime)
		key.ExpiresAt = &end
	}
	return key, nil
}

// A State says whether a key is valid, and if not, why.
type State string

// The states of a key. A revoked key stays revoked when it expires.
const (
	Active  State = "active"
	Expired State = "expired"
	Revoked State = "revoked"
)

// Error returns the name of the state. A State is an error so that it can be the cause of Invalid.
func (s State) Error() string { return string(s) }

// State returns the state of the key at now. At RevokedAt and at ExpiresAt the key is already invalid. If RevokedAt
// is not after CreatedAt, the clock was set back between them: the key is revoked whatever now is.
func (k Key) State(now time.Time) State {
	switch {
	case k.RevokedAt != nil && (!now.Before(*k.RevokedAt) || !k.RevokedAt.After(k.CreatedAt)):
		return Revoked
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return Expired
	default:
		return Active
	}
}

// Usable reports whether the key is valid at now: neither revoked nor expired.
func (k Key) Usable(now time.Time) bool { return k.State(now) == Active }

// NeedsLastUsedUpdate reports whether a use at now must be stored, because LastUsedAt is nil or at least UseInterval ago.
func (k Key) NeedsLastUsedUpdate(now time.Time) bool {
	return k.LastUsedAt == nil || now.Sub(*k.LastUsedAt) >= UseInterval
}

// Successor returns a key with a secret, to be stored, that replaces k: it is created at now, and has the name, the
// lifetime, the Scopes and the Lineage of k.
func (k Key) Successor(secret string, now time.Time) (NewKey, error) {
	var lifetime time.Duration
	if k.ExpiresAt != nil {
		lifetime = k.ExpiresAt.Sub(k.CreatedAt)
	}
	successor, err := New("successor", secret, now, lifetime)
	successor.Scopes, successor.Lineage = k.Scopes, k.Lineage
	successor.Name = k.Name // not validated: older rules may have allowed it
	return successor, err
}

// ValidateOverlap returns an ErrInvalid (validation_failed) unless overlap is 0 to MaxSpan. The overlap is how long a
// rotated key stays valid.
func ValidateOverlap(overlap time.Duration) error {
	if overlap < 0 || overlap > MaxSpan {
		return domain.Invalid(domain.CodeValidationFailed, domain.Violation{Field: "overlap", Rule: "must be 0 to 3650 days"})
	}
	return nil
}

// NotRotatable returns the ErrConflict for a key that cannot be rotated at now, because it is not valid or was rotated
// before. The error has no Code, because no operation of the API returns it.
func (k Key) NotRotatable(now time.Time) error {
	reason := string(k.State(now))
	if k.Usable(now) {
		reason = "about to be revoked"
	}
	return &domain.Error{Kind: domain.ErrConflict, Message: fmt.Sprintf("the API key with the id %d is %s and cannot be rotated", k.ID, reason)}
}

// NotFound returns the ErrNotFound for the id of a key that was never issued. It has no Code, like NotRotatable.
func NotFound(id int64) error {
	return &domain.Error{Kind: domain.ErrNotFound, Message: fmt.Sprintf("there is no API key with the id %d", id)}
}

// Missing returns the ErrUnauthenticated for a request without a key.
func Missing() error {
	return &domain.Error{
		Kind: domain.ErrUnauthenticated, Code: domain.CodeMissingAPIKey,
		Message: "an API key is required: send the header Authorization: Bearer <API_KEY>",
	}
}

// Invalid returns the ErrUnauthenticated for a key that is not valid. Clients get the same response for an unknown, a
// revoked and an expired key. The cause is for the log: the State of a known key, or nil.
func Invalid(cause error) error {
	return &domain.Error{Kind: domain.ErrUnauthenticated, Code: domain.CodeInvalidAPIKey, Message: "the API key is not valid", Cause: cause}
}
