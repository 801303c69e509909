package apikey_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// times are times relative to noon, by name.
var times = map[string]*time.Time{
	"never": nil, "past": noonPlus(-time.Millisecond), "now": noonPlus(0), "future": noonPlus(time.Millisecond),
}

// noonPlus returns noon plus d.
func noonPlus(d time.Duration) *time.Time {
	t := noon.Add(d)
	return &t
}

// TestKeyState tests every combination of expiry and revocation.
func TestKeyState(t *testing.T) {
	t.Parallel()
	const active, expired, revoked = apikey.Active, apikey.Expired, apikey.Revoked
	for expires, states := range map[string]map[string]apikey.State{
		"never":  {"never": active, "future": active, "now": revoked, "past": revoked},
		"future": {"never": active, "future": active, "now": revoked, "past": revoked},
		"now":    {"never": expired, "future": expired, "now": revoked, "past": revoked},
		"past":   {"never": expired, "future": expired, "now": revoked, "past": revoked},
	} {
		for revokes, want := range states {
			key := apikey.Key{ID: 7, ExpiresAt: times[expires], RevokedAt: times[revokes]}
			if got := key.State(noon); got != want || key.Usable(noon) != (want == active) {
				t.Errorf("expires %s, revoked %s: got %s, usable %t, want %s", expires, revokes, got, key.Usable(noon), want)
			}
			reason := string(want)
			if want == active {
				reason = "about to be revoked"
			}
			err := key.NotRotatable(noon)
			message := fmt.Sprintf("the API key with the id 7 is %s and cannot be rotated", reason)
			if !errors.Is(err, domain.ErrConflict) || err.Error() != message {
				t.Errorf("expires %s, revoked %s: got %v, want %s", expires, revokes, err, message)
			}
		}
	}
}

func TestKeyRevokedAtItsCreationIsNeverValid(t *testing.T) {
	t.Parallel()
	for revoked, want := range map[time.Duration]apikey.State{
		-time.Millisecond: apikey.Revoked, 0: apikey.Revoked, time.Millisecond: apikey.Active,
	} {
		key := apikey.Key{CreatedAt: noon, RevokedAt: noonPlus(revoked)}
		if got := key.State(*noonPlus(-time.Hour)); got != want {
			t.Errorf("revoked %v after its creation: got %s before both, want %s", revoked, got, want)
		}
	}
}

func TestSuccessorHasNameLifetimeAndReadOnly(t *testing.T) {
	t.Parallel()
	secret := apikey.Generate()
	hash, _ := apikey.HashOf(secret)
	const oldName = "\u202etill 1" // which a rule of today rejects
	for name, test := range map[string]struct {
		old, want *time.Time
		readOnly  bool
	}{
		"unlimited": {nil, nil, false},
		"one hour":  {noonPlus(-time.Minute), noonPlus(time.Hour), false},
		"read-only": {nil, nil, true},
	} {
		old := apikey.Key{
			ID: 7, Name: oldName, LastFour: "last", ReadOnly: test.readOnly, CreatedAt: noon.Add(-time.Hour - time.Minute),
			ExpiresAt: test.old, RevokedAt: noonPlus(0), LastUsedAt: noonPlus(0),
		}
		want := apikey.NewKey{
			Name: oldName, Hash: hash, LastFour: secret[len(secret)-4:], ReadOnly: test.readOnly, CreatedAt: noon, ExpiresAt: test.want,
		}
		got, err := old.Successor(secret, noon)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
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
