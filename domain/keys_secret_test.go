package domain_test

import (
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/domain"
)

func TestGeneratedKeyHasPublishedFormat(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^petstore_[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 1000 {
		secret := domain.GenerateKey()
		hash, ok := domain.HashKey(secret)
		if !form.MatchString(secret) || seen[secret] || !ok || hash != sha256.Sum256([]byte(secret)) {
			t.Fatalf("%q: form %t, seen %t, accepted %t", secret, form.MatchString(secret), seen[secret], ok)
		}
		seen[secret] = true
	}
}

// The check of every key is computed here in another way, by the library.
func TestChecksumIsCRC32InBase62(t *testing.T) {
	t.Parallel()
	randoms := []string{strings.Repeat("0", 43), strings.Repeat("z", 43), strings.Repeat("Z", 43)}
	for range 1000 {
		randoms = append(randoms, domain.GenerateKey()[len("petstore_"):][:43])
	}
	padded := 0
	for _, random := range randoms {
		check := big.NewInt(int64(crc32.ChecksumIEEE([]byte(random)))).Text(62)
		if len(check) < 6 {
			padded++
		}
		secret := "petstore_" + random + strings.Repeat("0", 6-len(check)) + check
		if _, ok := domain.HashKey(secret); !ok {
			t.Errorf("HashKey refuses %q", secret)
		}
	}
	if padded == 0 {
		t.Error("no check was padded with zeros")
	}
}

// Keys that were issued work for ever, so their form never changes.
func TestHashKeyAcceptsIssuedKeys(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"petstore_esQSTxddi8z6vgoJunJQgEJb9AB9MRwUmRpXokSqBQB299x5J",
		"petstore_Fs3U0vVOv7KJsKfkrw9Qs0qyjcOH4cd3ICEBxWEUMI32lPsof",
		"petstore_YoY8FOkpyJOWZ3DNkF9UVR7I4hkPTZQf7t4zjeXV5IV3F8F1g",
	} {
		if _, ok := domain.HashKey(secret); !ok {
			t.Errorf("HashKey refuses %q", secret)
		}
	}
}

func TestHashKeyRejectsMistypedKeys(t *testing.T) {
	t.Parallel()
	secret := domain.GenerateKey()
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
		if _, ok := domain.HashKey(wrong); ok {
			t.Errorf("HashKey accepts %q for %q", wrong, secret)
		}
	}
}

// The check of a foreign alphabet may be right: then the alphabet must refuse it.
func TestHashKeyRejectsOtherAlphabets(t *testing.T) {
	t.Parallel()
	for _, foreign := range []string{"-", "/", ":", "@", "[", "`", "{", "\x00", "\xff"} {
		random := strings.Repeat(foreign, 43)
		check := big.NewInt(int64(crc32.ChecksumIEEE([]byte(random)))).Text(62)
		if _, ok := domain.HashKey("petstore_" + random + strings.Repeat("0", 6-len(check)) + check); ok {
			t.Errorf("a key made of %q was accepted", foreign)
		}
	}
}
