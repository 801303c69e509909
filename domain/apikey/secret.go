package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

// The secret of an API key is keyPrefix, then 256 random bits as keyRandom base62
// characters, then the CRC-32 (IEEE) of these characters as keyCheck base62 characters.
// Secret scanners recognise this format, and a mistyped key is rejected without a query.
const (
	keyPrefix = "petstore_"
	keyRandom = 43
	keyCheck  = 6
)

// base62 has the digits in the order of their values, as in big.Int.Text.
const base62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// A Hash is the SHA-256 of an API key. The key itself is not stored.
type Hash [sha256.Size]byte

// Generate returns a new API key from crypto/rand. It is a secret: only its hash may be
// stored.
func Generate() string {
	bits := make([]byte, 32)
	_, _ = rand.Read(bits) // never fails (crypto/rand, Go 1.24)
	digits := new(big.Int).SetBytes(bits).Text(len(base62))
	random := strings.Repeat("0", keyRandom-len(digits)) + digits
	return keyPrefix + random + checksum(random)
}

// HashOf returns the hash of an API key. It returns false if secret does not have the format of an API key, because its
// length, prefix, alphabet or checksum is wrong.
func HashOf(secret string) (Hash, bool) {
	body, found := strings.CutPrefix(secret, keyPrefix)
	if !found || len(body) != keyRandom+keyCheck || !isBase62(body) {
		return Hash{}, false
	}
	if checksum(body[:keyRandom]) != body[keyRandom:] {
		return Hash{}, false
	}
	return sha256.Sum256([]byte(secret)), true
}

// checksum returns the CRC-32 of random in base62, padded with zeros.
func checksum(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	var digits [keyCheck]byte
	for i := range digits {
		digits[keyCheck-1-i] = base62[sum%62]
		sum /= 62
	}
	return string(digits[:])
}

func isBase62(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
