// Package apikey has API keys: their secrets, their rules and their errors.
package apikey

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"example.com/petstore/domain"
)

// A Key is a stored API key, which may do what its Scopes allow. Lineage is the id of the first of the
// keys that were rotated into this one: its own id if it has replaced none. A key without ExpiresAt
// never expires. RevokedAt may be in the future. Times are UTC, in milliseconds.
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

// A NewKey is a key to be stored. Name describes its user to people. Lineage is 0 for a key that
// replaces none.
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
	// UseInterval is the resolution of LastUsedAt: one use in each interval is stored.
	UseInterval = time.Minute
)

// NameRule is the rule of a key's name, for error messages.
const NameRule = "must be 1 to 100 characters, not blank, without control characters, also those for the direction of text, or " +
	"noncharacters such as U+FFFF"

// ValidName reports whether name satisfies NameRule.
func ValidName(name string) bool {
	return domain.ValidName(name, maxName) && strings.IndexFunc(name, isBidiControl) < 0
}

// isBidiControl reports whether r changes the direction of the text after it
// (unicode.org/reports/tr9, section 2), which can make a terminal show another text.
func isBidiControl(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

// New returns the key to be stored for a secret, which may do everything. It expires after
// lifetime, or never if lifetime is zero. New returns an ErrInvalid (validation_failed)
// that lists every violation.
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

// A State is whether a key is valid, and if not, why.
type State string

// The states of a key. A revoked key stays revoked when it expires.
const (
	Active  State = "active"
	Expired State = "expired"
	Revoked State = "revoked"
)

// Error returns the name of the state, which is the cause of an error of Invalid.
func (s State) Error() string { return string(s) }

// State returns the state of the key at now. RevokedAt and ExpiresAt are the first times at
// which the key is not valid. A key that was revoked at its creation or before is revoked
// at any time, because the clock had been set back.
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

// Usable reports whether the key may be used at now: not revoked and not expired.
func (k Key) Usable(now time.Time) bool { return k.State(now) == Active }

// NeedsLastUsedUpdate reports whether a use at now must be stored: LastUsedAt is at least a
// UseInterval earlier.
func (k Key) NeedsLastUsedUpdate(now time.Time) bool {
	return k.LastUsedAt == nil || now.Sub(*k.LastUsedAt) >= UseInterval
}

// Successor returns the key to be stored for a secret that replaces that of k from now on,
// with the same name, lifetime, Scopes and Lineage.
func (k Key) Successor(secret string, now time.Time) (NewKey, error) {
	var lifetime time.Duration
	if k.ExpiresAt != nil {
		lifetime = k.ExpiresAt.Sub(k.CreatedAt)
	}
	successor, err := New("successor", secret, now, lifetime)
	successor.Scopes, successor.Lineage = k.Scopes, k.Lineage
	successor.Name = k.Name // a name that was valid when k was created, by older rules
	return successor, err
}

// ValidateOverlap returns an ErrInvalid (validation_failed) unless overlap, for which a
// rotated key stays valid, is 0 to MaxSpan.
func ValidateOverlap(overlap time.Duration) error {
	if overlap < 0 || overlap > MaxSpan {
		return domain.Invalid(domain.CodeValidationFailed, domain.Violation{Field: "overlap", Rule: "must be 0 to 3650 days"})
	}
	return nil
}

// NotRotatable returns the ErrConflict for a key that cannot be rotated at now: it is not
// valid, or it was rotated before. Like NotFound it has no Code, because no
// operation of the API returns it.
func (k Key) NotRotatable(now time.Time) error {
	reason := string(k.State(now))
	if k.Usable(now) {
		reason = "about to be revoked"
	}
	return &domain.Error{Kind: domain.ErrConflict, Message: fmt.Sprintf("the API key with the id %d is %s and cannot be rotated", k.ID, reason)}
}

// NotFound returns the ErrNotFound for a key that was never issued.
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

// Invalid returns the ErrUnauthenticated for a key that is not valid. Clients get the same
// for an unknown, a revoked and an expired key. The cause, for the log, is the State of a known
// key, else nil.
func Invalid(cause error) error {
	return &domain.Error{Kind: domain.ErrUnauthenticated, Code: domain.CodeInvalidAPIKey, Message: "the API key is not valid", Cause: cause}
}
