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
	s := fuzz(f)
	for _, seed := range keySeeds {
		f.Add(seed)
	}
	given := map[string]string{} // the answer of each key
	f.Fuzz(func(t *testing.T, header string) {
		key, valid := meaning(header)
		w := s.answer(t, http.MethodPost, "", newRex, http.Header{"Idempotency-Key": {header}})
		replayed := w.Header().Get("Idempotency-Replayed") == "true"
		switch earlier, repeated := given[key]; {
		case !valid && w.Code != http.StatusBadRequest, valid && w.Code != http.StatusCreated:
			t.Fatalf("%q was answered %d %s", header, w.Code, w.Body)
		case !valid:
			return
		case replayed != repeated, repeated && w.Body.String() != earlier:
			t.Fatalf("%q was answered %s, replayed: %v; before that %s", header, w.Body, replayed, earlier)
		}
		given[key] = w.Body.String()
		other := s.answer(t, http.MethodPost, "", `{"name":"Tom","categoryId":8}`, http.Header{"Idempotency-Key": {header}})
		if other.Code != http.StatusUnprocessableEntity {
			t.Fatalf("%q with another body was answered %d %s", header, other.Code, other.Body)
		}
	})
}

var quoted = regexp.MustCompile(`^"(?:[ !#-\[\]-~]|\\["\\])*"$`)

// meaning is the key that a header stands for (RFC 9651, section 3.3.3).
func meaning(header string) (key string, valid bool) {
	if key = header; strings.HasPrefix(header, `"`) {
		if !quoted.MatchString(header) {
			return "", false
		}
		key = regexp.MustCompile(`\\(.)`).ReplaceAllString(header[1:len(header)-1], "$1")
	}
	return key, regexp.MustCompile(`^[!-~]{1,255}$`).MatchString(key)
}
