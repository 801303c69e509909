package apikey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

func noonPlus(d time.Duration) *time.Time {
	t := noon.Add(d)
	return &t
}

// TestKeyIsActiveUntilItExpiresOrIsRevoked tests every combination of expiry and revocation.
func TestKeyIsActiveUntilItExpiresOrIsRevoked(t *testing.T) {
	t.Parallel()
	times := map[string]*time.Time{"never": nil, "past": noonPlus(-time.Millisecond), "now": noonPlus(0), "future": noonPlus(time.Millisecond)}
	const active, expired, revoked = apikey.Active, apikey.Expired, apikey.Revoked
	for expires, states := range map[string]map[string]apikey.State{
		"never":  {"never": active, "future": active, "now": revoked, "past": revoked},
		"future": {"never": active, "future": active, "now": revoked, "past": revoked},
		"now":    {"never": expired, "future": expired, "now": revoked, "past": revoked},
		"past":   {"never": expired, "future": expired, "now": revoked, "past": revoked},
	} {
		for revokes, want := range states {
			key := apikey.Key{ExpiresAt: times[expires], RevokedAt: times[revokes]}
			if got := key.State(noon); got != want || key.Usable(noon) != (want == active) {
				t.Errorf("expires %s, revoked %s: got %s, usable %t, want %s", expires, revokes, got, key.Usable(noon), want)
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

func TestSuccessorKeepsANameThatIsNoLongerValid(t *testing.T) {
	t.Parallel()
	secret := apikey.Generate()
	old := apikey.Key{
		ID: 3, Name: "\u202etill 1", Lineage: 2, LastFour: "last", CreatedAt: noon.Add(-time.Hour), RevokedAt: noonPlus(0),
		LastUsedAt: noonPlus(0),
	}
	got, err := old.Successor(secret, noon)
	got.Hash = apikey.Hash{}
	want := apikey.NewKey{Name: old.Name, Lineage: 2, LastFour: secret[len(secret)-4:], CreatedAt: noon}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
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

func TestKeyNameIsNotBlankAndHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"till 1": true, "مخزن": true, "犬🐶": true, "a\u200db": true,
		"": false, " ": false, "a\nb": false, "a\x1bb": false, "a\u0085b": false, "\xff": false,
	} {
		if got := apikey.ValidName(name); got != valid {
			t.Errorf("ValidName(%q) = %t, want %t", name, got, valid)
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
	const nameRule = "name must be 1 to 100 characters, not blank, without control characters, also those for the direction of text, or " +
		"noncharacters such as U+FFFF"
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
		_, err := apikey.New(test.name, test.secret, noon, test.lifetime)
		known, ok := errors.AsType[*domain.Error](err)
		if !ok || known.Kind != domain.ErrInvalid || known.Code != domain.CodeValidationFailed || known.Message != test.message {
			t.Errorf("%s: got %#v, want %s", name, err, test.message)
		}
	}
	if _, err := apikey.New(strings.Repeat("é", 100), secret, noon, apikey.MaxSpan); err != nil {
		t.Error(err)
	}
}
