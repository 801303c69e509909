package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

// The secret of an API key is keyPrefix, keyRandom base62 characters for 256 random
// bits, and keyCheck base62 characters of the CRC-32 (IEEE) of those. Its form lets
// secret scanners find it and lets a mistyped one be refused without asking the store.
const (
	keyPrefix = "petstore_"
	keyRandom = 43
	keyCheck  = 6
)

// base62 are the digits in the order of their values, those of big.Int.Text.
const base62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// A KeyHash is the SHA-256 of an API key, all that the store keeps of it.
type KeyHash [sha256.Size]byte

// GenerateKey returns a fresh API key from the system's random source. It is a
// secret: show it once, keep its hash.
func GenerateKey() string {
	bits := make([]byte, 32)
	_, _ = rand.Read(bits) // never fails (crypto/rand, Go 1.24)
	digits := new(big.Int).SetBytes(bits).Text(len(base62))
	random := strings.Repeat("0", keyRandom-len(digits)) + digits
	check := checkOf(random)
	return keyPrefix + random + string(check[:])
}

// HashKey returns the hash of an API key, and false when secret has not the form
// of one: a wrong length, prefix, alphabet or check.
func HashKey(secret string) (KeyHash, bool) {
	body, found := strings.CutPrefix(secret, keyPrefix)
	if !found || len(body) != keyRandom+keyCheck || !isBase62(body) {
		return KeyHash{}, false
	}
	if check := checkOf(body[:keyRandom]); string(check[:]) != body[keyRandom:] {
		return KeyHash{}, false
	}
	var text [len(keyPrefix) + keyRandom + keyCheck]byte // []byte(secret) would be put on the heap
	copy(text[:], secret)
	return sha256.Sum256(text[:]), true
}

// checkOf is the CRC-32 of random in base62, padded with zeros.
func checkOf(random string) (check [keyCheck]byte) {
	sum := ^uint32(0)
	for i := range len(random) { // as crc32.ChecksumIEEE, which would put a copy on the heap
		sum = crc32.IEEETable[(sum^uint32(random[i]))&0xff] ^ sum>>8
	}
	sum = ^sum
	for i := range check {
		check[keyCheck-1-i] = base62[sum%62]
		sum /= 62
	}
	return check
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
