package http_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var keySeeds = []string{
	"", "a", "one", `"one"`, `""`, `"`, `"a`, `a"`, `a"b`, `"a"b"`, `"a\"b"`, `"a\\b"`, `"a\b"`, `"a\"`, `a\b`, "a b", `"a b"`, "a\tb", "a\x00", "\x7f", "~", "!", "ä", "\xff",
	"8e03978e-40d5-43dd-bc93-6894a57f9324", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`, `"a";p=1`, `"a", "b"`,
	strings.Repeat("x", 255), strings.Repeat("x", 256), `"` + strings.Repeat("x", 255) + `"`, `"` + strings.Repeat(`\"`, 255) + `"`, `"` + strings.Repeat(`\"`, 256) + `"`,
}

func FuzzIdempotencyKey(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range keySeeds {
		f.Add(seed)
	}
	responses := map[string]string{} // by key
	f.Fuzz(func(t *testing.T, header string) {
		key, valid := parseIdempotencyKey(header)
		w := s.roundTrip(t, http.MethodPost, "", newRex, http.Header{"Idempotency-Key": {header}})
		replayed := w.Header().Get("Idempotency-Replayed") == "true"
		switch first, repeated := responses[key]; {
		case !valid && w.Code != http.StatusBadRequest, valid && w.Code != http.StatusCreated:
			t.Fatalf("%q (valid: %t): got %d %s", header, valid, w.Code, w.Body)
		case !valid:
			return
		case replayed != repeated, repeated && w.Body.String() != first:
			t.Fatalf("%q: got %s, replayed %t, want replayed %t of %q", header, w.Body, replayed, repeated, first)
		}
		responses[key] = w.Body.String()
		other := s.roundTrip(t, http.MethodPost, "", `{"name":"Tom","categoryId":8}`, http.Header{"Idempotency-Key": {header}})
		if other.Code != http.StatusUnprocessableEntity {
			t.Fatalf("%q with another body: got %d %s, want 422", header, other.Code, other.Body)
		}
	})
}

var quotedKey = regexp.MustCompile(`^"(?:[ !#-\[\]-~]|\\["\\])*"$`)

// parseIdempotencyKey returns the key in a header value, a String of RFC 9651, section
// 3.3.3, when it is quoted.
func parseIdempotencyKey(header string) (key string, valid bool) {
	if key = header; strings.HasPrefix(header, `"`) {
		if !quotedKey.MatchString(header) {
			return "", false
		}
		key = regexp.MustCompile(`\\(.)`).ReplaceAllString(header[1:len(header)-1], "$1")
	}
	return key, regexp.MustCompile(`^[!-~]{1,255}$`).MatchString(key)
}
