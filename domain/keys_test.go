package domain_test

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain"
)

func TestGeneratedKeyHasThePublishedForm(t *testing.T) {
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

func TestMistypedKeyIsRefused(t *testing.T) {
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
func TestKeyIsBase62(t *testing.T) {
	t.Parallel()
	// crc32 of 43 times "-", in base 62 with the digits 0-9a-zA-Z, six wide.
	if _, ok := domain.HashKey("petstore_" + strings.Repeat("-", 43) + "0v1wLG"); ok {
		t.Error("a key with other characters was accepted")
	}
}

func TestKeyIsUsableUntilItExpiresOrIsRevoked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	past, future := now.Add(-time.Millisecond), now.Add(time.Millisecond)
	for name, test := range map[string]struct {
		key    domain.APIKey
		usable bool
	}{
		"for ever":        {domain.APIKey{}, true},
		"expires later":   {domain.APIKey{ExpiresAt: &future}, true},
		"expires now":     {domain.APIKey{ExpiresAt: &now}, false},
		"expired":         {domain.APIKey{ExpiresAt: &past}, false},
		"revoked":         {domain.APIKey{RevokedAt: &past}, false},
		"revoked now":     {domain.APIKey{RevokedAt: &now, ExpiresAt: &future}, false},
		"revocation set":  {domain.APIKey{RevokedAt: &future}, true},
		"both in the end": {domain.APIKey{RevokedAt: &past, ExpiresAt: &past}, false},
	} {
		if got := test.key.Usable(now); got != test.usable {
			t.Errorf("%s: usable is %t", name, got)
		}
	}
}

func TestNewKeyTellsEveryBrokenRule(t *testing.T) {
	t.Parallel()
	_, err := domain.NewKey("\n", "secret", time.Time{})
	wantInvalid(
		t, err, domain.CodeValidationFailed,
		"key has not the form of an API key; name must be 1 to 100 characters, not blank, without control characters",
	)
	_, err = domain.NewKey(strings.Repeat("é", 101), domain.GenerateKey(), time.Time{})
	wantInvalid(t, err, domain.CodeValidationFailed, "name must be 1 to 100 characters, not blank, without control characters")
	if _, err := domain.NewKey(strings.Repeat("é", 100), domain.GenerateKey(), time.Time{}); err != nil {
		t.Error(err)
	}
}
