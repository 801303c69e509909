package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
	"time"
)

// An API key is keyPrefix, keyRandom base62 characters for 256 random bits, and
// keyCheck base62 characters of the CRC-32 (IEEE) of those. Its form lets secret
// scanners find it and lets a mistyped one be refused without asking the store.
const (
	keyPrefix = "petstore_"
	keyRandom = 43
	keyCheck  = 6
)

// A KeyHash is the SHA-256 of an API key, all that the store keeps of it.
type KeyHash [sha256.Size]byte

// An APIKey is what the store knows of an issued key. A nil time has not come.
type APIKey struct {
	ID        int64
	Name      string
	Hash      KeyHash
	LastFour  string
	CreatedAt time.Time
	ExpiresAt *time.Time
	RevokedAt *time.Time
}

// A NewAPIKey is a key to be kept, under a name that tells people whose it is.
type NewAPIKey struct {
	Name      string
	Hash      KeyHash
	LastFour  string
	CreatedAt time.Time
}

// MaxKeyName is the length of the longest name of a key in characters.
const MaxKeyName = 100

// GenerateKey returns a fresh API key from the system's random source. It is a
// secret: show it once, keep its hash.
func GenerateKey() string {
	bits := make([]byte, 32)
	_, _ = rand.Read(bits) // never fails (crypto/rand, Go 1.24)
	random := base62(new(big.Int).SetBytes(bits), keyRandom)
	return keyPrefix + random + checkOf(random)
}

// HashKey returns the hash of an API key, and false when secret has not the form
// of one: a wrong length, prefix, alphabet or check.
func HashKey(secret string) (KeyHash, bool) {
	body, found := strings.CutPrefix(secret, keyPrefix)
	if !found || len(body) != keyRandom+keyCheck || strings.ContainsFunc(body, notBase62) {
		return KeyHash{}, false
	}
	if checkOf(body[:keyRandom]) != body[keyRandom:] {
		return KeyHash{}, false
	}
	return sha256.Sum256([]byte(secret)), true
}

// NewKey is the record to keep for a fresh secret. It returns an ErrInvalid
// (validation_failed) for a name that is blank, too long or has control characters.
func NewKey(name, secret string, now time.Time) (NewAPIKey, error) {
	hash, ok := HashKey(secret)
	var broken []Violation
	if !ok {
		broken = append(broken, Violation{Field: "key", Rule: "has not the form of an API key"})
	}
	if !ValidPetName(name) || len([]rune(name)) > MaxKeyName {
		broken = append(broken, Violation{Field: "name", Rule: "must be 1 to 100 characters, not blank, without control characters"})
	}
	if err := Invalid(CodeValidationFailed, broken...); err != nil {
		return NewAPIKey{}, err
	}
	return NewAPIKey{Name: name, Hash: hash, LastFour: secret[len(secret)-4:], CreatedAt: now}, nil
}

// Usable reports whether the key may be used at now: not revoked and not expired.
func (k APIKey) Usable(now time.Time) bool {
	return (k.RevokedAt == nil || now.Before(*k.RevokedAt)) && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
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

func checkOf(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	return base62(big.NewInt(int64(sum)), keyCheck)
}

func notBase62(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// base62 writes n with the digits 0-9a-zA-Z, padded with zeros to width.
func base62(n *big.Int, width int) string {
	digits := n.Text(62)
	return strings.Repeat("0", width-len(digits)) + digits
}
