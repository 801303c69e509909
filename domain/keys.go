package domain

import (
	"fmt"
	"time"
)

// An APIKey is what the store knows of an issued key. A nil time has not come:
// without ExpiresAt the key lives for ever. RevokedAt may lie in the future.
type APIKey struct {
	ID         int64
	Name       string
	Hash       KeyHash
	LastFour   string
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time
}

// A NewAPIKey is a key to be kept, under a name that tells people whose it is.
type NewAPIKey struct {
	Name      string
	Hash      KeyHash
	LastFour  string
	CreatedAt time.Time
	ExpiresAt *time.Time
}

const (
	// MaxKeyName is the length of the longest name of a key in characters.
	MaxKeyName = 100
	// MaxKeySpan is the longest time that a key may be given to live, or to live on
	// beside the one that takes its place.
	MaxKeySpan = 3650 * 24 * time.Hour
	// KeyUseInterval is how exactly the last use of a key is kept: of the uses within
	// one interval the store is told once.
	KeyUseInterval = time.Minute
)

// KeyNameRule is the rule of a key's name in words.
const KeyNameRule = "must be 1 to 100 characters, not blank, without control characters"

// ValidKeyName reports whether name keeps KeyNameRule.
func ValidKeyName(name string) bool { return validName(name, MaxKeyName) }

// NewKey is the record to keep for a fresh secret, which expires after lifetime or,
// where that is zero, never. It returns an ErrInvalid (validation_failed) that tells
// every broken rule.
func NewKey(name, secret string, now time.Time, lifetime time.Duration) (NewAPIKey, error) {
	hash, ok := HashKey(secret)
	var broken []Violation
	if !ok {
		broken = append(broken, Violation{Field: "key", Rule: "has not the form of an API key"})
	}
	if !ValidKeyName(name) {
		broken = append(broken, Violation{Field: "name", Rule: KeyNameRule})
	}
	if lifetime < 0 || lifetime > MaxKeySpan {
		broken = append(broken, Violation{Field: "lifetime", Rule: "must be at most 3650 days"})
	}
	if err := Invalid(CodeValidationFailed, broken...); err != nil {
		return NewAPIKey{}, err
	}
	key := NewAPIKey{Name: name, Hash: hash, LastFour: secret[len(secret)-4:], CreatedAt: now}
	if lifetime > 0 {
		end := now.Add(lifetime)
		key.ExpiresAt = &end
	}
	return key, nil
}

// A KeyState says whether a key opens anything, and if not, why.
type KeyState string

// The states of a key. One that was revoked stays so when it expires as well.
const (
	KeyActive  KeyState = "active"
	KeyExpired KeyState = "expired"
	KeyRevoked KeyState = "revoked"
)

// State is the state of the key at now. A moment that has come counts. A key that was
// revoked at its creation is revoked whatever now is: the clock that revoked it was
// behind the one that created it.
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

// UseIsNews reports whether the store should be told of a use at now: it knows of
// none within the KeyUseInterval before.
func (k APIKey) UseIsNews(now time.Time) bool {
	return k.LastUsedAt == nil || now.Sub(*k.LastUsedAt) >= KeyUseInterval
}

// Successor is the record to keep for the secret that takes the place of the key's
// from now on. It has the same name and is given the same time to live.
func (k APIKey) Successor(secret string, now time.Time) (NewAPIKey, error) {
	var lifetime time.Duration
	if k.ExpiresAt != nil {
		lifetime = k.ExpiresAt.Sub(k.CreatedAt)
	}
	return NewKey(k.Name, secret, now, lifetime)
}

// ValidateOverlap returns an ErrInvalid (validation_failed) for a time that a key
// cannot live on beside its successor.
func ValidateOverlap(overlap time.Duration) error {
	if overlap < 0 || overlap > MaxKeySpan {
		return Invalid(CodeValidationFailed, Violation{Field: "overlap", Rule: "must be 0 to 3650 days"})
	}
	return nil
}

// NotRotatable is the ErrConflict for a key that cannot get a successor at now: it
// opens nothing, or its end is set because it has one. Like APIKeyNotFound it has
// no Code, because no operation of the published API can return it.
func (k APIKey) NotRotatable(now time.Time) error {
	reason := string(k.State(now))
	if k.Usable(now) {
		reason = "about to be revoked"
	}
	return &Error{Kind: ErrConflict, Message: fmt.Sprintf("the API key with the id %d is %s and cannot be rotated", k.ID, reason)}
}

// APIKeyNotFound is the ErrNotFound for a key that was never issued.
func APIKeyNotFound(id int64) error {
	return &Error{Kind: ErrNotFound, Message: fmt.Sprintf("there is no API key with the id %d", id)}
}

// MissingAPIKey is the ErrUnauthenticated for a request that shows no key.
func MissingAPIKey() error {
	return &Error{
		Kind: ErrUnauthenticated, Code: CodeMissingAPIKey,
		Message: "an API key is required: send the header Authorization: Bearer <API_KEY>",
	}
}

// InvalidAPIKey is the ErrUnauthenticated for a key that opens nothing. It is the
// same for an unknown, a revoked and an expired one, so that nothing can be learnt.
func InvalidAPIKey() error {
	return &Error{Kind: ErrUnauthenticated, Code: CodeInvalidAPIKey, Message: "the API key is not valid"}
}
