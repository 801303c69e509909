package apikey_test

import (
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/domain/apikey"
)

func TestGeneratedKeyHasPublishedFormat(t *testing.T) {
	t.Parallel()
	format := regexp.MustCompile(`^petstore_[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 1000 {
		secret := apikey.Generate()
		hash, ok := apikey.HashOf(secret)
		if !format.MatchString(secret) || seen[secret] || !ok || hash != sha256.Sum256([]byte(secret)) {
			t.Fatalf("%q: got format %t, repeated %t, accepted %t", secret, format.MatchString(secret), seen[secret], ok)
		}
		seen[secret] = true
	}
}

// withChecksum returns a key with the checksum that math/big computes, and whether the checksum is padded.
func withChecksum(random string) (secret string, padded bool) {
	sum := big.NewInt(int64(crc32.ChecksumIEEE([]byte(random)))).Text(62)
	return "petstore_" + random + strings.Repeat("0", 6-len(sum)) + sum, len(sum) < 6
}

// Issued keys must stay valid. A key with characters outside the alphabet may have a correct checksum.
func TestChecksumIsCRC32InBase62(t *testing.T) {
	t.Parallel()
	randoms := []string{strings.Repeat("0", 43), strings.Repeat("z", 43), strings.Repeat("Z", 43)}
	for range 1000 {
		randoms = append(randoms, apikey.Generate()[len("petstore_"):][:43])
	}
	anyPadded := false
	for _, random := range randoms {
		secret, padded := withChecksum(random)
		if _, ok := apikey.HashOf(secret); !ok {
			t.Errorf("HashOf rejects %q", secret)
		}
		anyPadded = anyPadded || padded
	}
	if !anyPadded {
		t.Error("no checksum was padded with zeros")
	}
	for _, character := range []string{"-", "/", ":", "@", "[", "`", "{", "\x00", "\xff"} {
		secret, _ := withChecksum(strings.Repeat(character, 43))
		if _, ok := apikey.HashOf(secret); ok {
			t.Errorf("HashOf accepts a key of %q", character)
		}
	}
}

func TestHashOfRejectsMistypedKeys(t *testing.T) {
	t.Parallel()
	secret := apikey.Generate()
	flipped := []byte(secret)
	flipped[20] = 'a' + (flipped[20]+1)%26
	for _, wrong := range []string{
		"", "petstore_", secret[:len(secret)-1], secret + "0", strings.ToLower(secret), strings.ToUpper(secret),
		secret[len("petstore_"):], "petstore-" + secret[len("petstore_"):], " " + secret, string(flipped),
		secret[:20] + "-" + secret[21:], secret[:20] + "é" + secret[22:],
	} {
		if wrong == secret {
			continue
		}
		if _, ok := apikey.HashOf(wrong); ok {
			t.Errorf("HashOf accepts %q, mistyped for %q", wrong, secret)
		}
	}
}
