package apikey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// noonPlus returns noon plus d.
func noonPlus(d time.Duration) *time.Time {
	t := noon.Add(d)
	return &t
}

// TestRotatedKeyIsValidDuringOverlap of usecase shows the rest of a successor.
func TestSuccessorKeepsANameThatIsNoLongerValid(t *testing.T) {
	t.Parallel()
	const oldName = "\u202etill 1"
	got, err := apikey.Key{ID: 7, Name: oldName, CreatedAt: noon.Add(-time.Hour)}.Successor(apikey.Generate(), noon)
	if err != nil || got.Name != oldName || got.ExpiresAt != nil {
		t.Errorf("got %+v and %v, want the name %q and no end", got, err, oldName)
	}
}

func TestLastUsedIsUpdatedOncePerInterval(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		last *time.Time
		want bool
	}{
		"first":               {nil, true},
		"within the interval": {noonPlus(-apikey.UseInterval + time.Millisecond), false},
		"after the interval":  {noonPlus(-apikey.UseInterval), true},
		"in the future":       {noonPlus(time.Hour), false},
	} {
		if got := (apikey.Key{LastUsedAt: test.last}).NeedsLastUsedUpdate(noon); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

func TestKeyNameRule(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"till 1": true, "مخزن": true, "犬🐶": true, "a\u200db": true, "": false, " ": false, "a\nb": false, "a\x1bb": false, "a\u0085b": false, "\xff": false,
	} {
		if got := apikey.ValidName(name); got != valid {
			t.Errorf("ValidKeyName(%q) = %t, want %t", name, got, valid)
		}
	}
	for _, control := range "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		if apikey.ValidName("a"+string(control)) || apikey.ValidName(string(control)+"a") {
			t.Errorf("%U is valid in the name of a key", control)
		}
	}
}

func TestNewKeyListsEveryBrokenRule(t *testing.T) {
	t.Parallel()
	const nameRule = "name must be 1 to 100 characters, not blank, without control characters, also those for the direction of text, or noncharacters such as U+FFFF"
	const lifetimeRule = "lifetime must be at most 3650 days"
	secret := apikey.Generate()
	for name, test := range map[string]struct {
		name, secret string
		lifetime     time.Duration
		message      string
	}{
		"all":                 {"\n", "secret", -1, "key does not have the format of an API key; " + nameRule + "; " + lifetimeRule},
		"a long name":         {strings.Repeat("é", 101), secret, 0, nameRule},
		"a long lifetime":     {"a", secret, apikey.MaxSpan + 1, lifetimeRule},
		"a negative lifetime": {"a", secret, -1, lifetimeRule},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := apikey.New(test.name, test.secret, noon, test.lifetime)
			wantInvalid(t, err, test.message)
		})
	}
	if _, err := apikey.New(strings.Repeat("é", 100), secret, noon, apikey.MaxSpan); err != nil {
		t.Error(err)
	}
}

// wantInvalid expects an ErrInvalid (validation_failed) with a message.
func wantInvalid(t *testing.T, err error, message string) {
	t.Helper()
	known, ok := errors.AsType[*domain.Error](err)
	if !ok || known.Kind != domain.ErrInvalid || known.Code != domain.CodeValidationFailed || known.Message != message {
		t.Errorf("got %#v, want %s", err, message)
	}
}
