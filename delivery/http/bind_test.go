package http_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestInvalidOrUnknownIDIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(10, "")...)
	for _, id := range []string{
		"0", "-1", "11", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809",
		"99999999999999999999999", "+1", "%2B1", "1.0", "1e0", "0x1", "1_0", "one", "null", "1%20", "%201", "1%00", "1;x", "1,2", "١", "*", "--1", "-",
		"1%27%20OR%201=1",
	} {
		s.expect(t, get("/v1/pets/"+id), rejected(404, "pet_not_found"))
		s.expect(t, get("/v1/store/orders/"+id), rejected(404, "order_not_found"))
		for _, action := range []string{"/deliver", "/cancel"} {
			s.expect(t, newRequest("POST", "/v1/store/orders/"+id+action), rejected(404, "order_not_found"))
		}
	}
	for id, want := range map[string]int{"1": 1, "%31": 1, "10": 10, "010": 10} {
		s.expect(t, get("/v1/pets/"+id), ok(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, want)))
	}
}

// A header of a request without a body is ignored.
func TestBodyMustHaveJSONMediaType(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for want, headers := range map[int][]string{
		201: {
			"Content-Type: application/json", "Content-Type: application/json; charset=utf-8", "Content-Type: Application/JSON;Charset=UTF-8",
			`Content-Type: application/json; charset="utf-8"`, "Content-Encoding: identity",
		},
		415: {
			"-Content-Type", "Content-Type: ", "Content-Type: application/json, application/json", "Content-Type: text/plain", "Content-Type: text/json",
			"Content-Type: application/x-www-form-urlencoded", "Content-Type: application/jsonp", "Content-Type: application/merge-patch+json",
			"Content-Type: */*", "Content-Type: application", "Content-Type: application/json; charset=iso-8859-1",
			"Content-Type: application/json; charset=utf-16", `Content-Type: application/json; charset=""`,
			"Content-Type: application/json; charset=utf-8; charset=utf-16", "Content-Type: application/json; version=1",
			"Content-Type: application/json; charset=utf-8; version=1", "Content-Type: application/json; charset",
			"Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: x", "Content-Encoding: identity, gzip",
		},
	} {
		for _, header := range headers {
			s.expect(t, postPet(newRex, header), wantResponse{status: want})
			s.expect(t, get("/v1/pets", header), wantResponse{status: 200})
		}
	}
	s.expect(t, postPet(newRex, "Content-Type: application/json", "Content-Type: application/json"), rejected(415, "unsupported_media_type"))
	s.expect(t, postPet(newRex, "Content-Encoding: identity", "Content-Encoding: gzip"), rejected(415, "unsupported_media_type"))
}

const (
	newRex      = `{"name":"Rex","categoryId":7}`
	createdRex  = `{"id":1,"name":"Rex","categoryId":7}`
	replayed    = "Idempotency-Replayed: true"
	notReplayed = "-Idempotency-Replayed"
)

func postPetWithKey(key, body string) request { return postPet(body, "Idempotency-Key: "+key) }

func TestRepeatedRequestReplaysFirstResponse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	first := s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(notReplayed))
	for _, r := range []request{
		postPetWithKey(` "one" `, `{"categoryId":7,"name":"Rex"}`),
		postPetWithKey("one", " {\n\"name\" : \"Rex\",\t\"categoryId\":7 } "),
		postPetWithKey("one", `{"n\u0061me":"\u0052ex","categoryId":7,"id":9}`),
		postPet(newRex, "Idempotency-Key: one", "X-Request-Id: second"),
	} {
		res := s.expect(t, r, created(createdRex).withHeader(replayed, "Location: "+first.Header.Get("Location")))
		if string(res.body) != string(first.body) {
			t.Errorf("got %s, want %s as in the first response", res.body, first.body)
		}
	}
	for _, body := range []string{`{"name":"rex","categoryId":7}`, `{"name":"Rex","categoryId":8}`, `{"name":"Rex","categoryId":7,"status":"available"}`} {
		s.expect(t, postPetWithKey("one", body), rejected(422, "idempotency_key_reused").withHeader(notReplayed, "-Location").withoutText("rex", "Rex"))
	}
	s.expect(t, postPet(newRex, "Idempotency-Key: x", "Idempotency-Key: x"), rejected(400, "invalid_idempotency_key", "Idempotency-Key must be given once"))
	s.expect(t, get("/v1/pets"), ok(`[`+createdRex+`]`))
}

// FuzzIdempotencyKey sends any key twice, and then with another pet.
func FuzzIdempotencyKey(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range []string{
		"", "a", "1", "one", "One", "one1", `"one"`, `"\"one\""`, `""`, `"`, `"a`, `a"`, `a"b`, `"a"b"`, `"a"b`, `"a" b`, `"a\"b"`, `"a\\b"`, `"a\b"`, `"a\"`, `"a\`, `a\b`,
		"a b", `"a b"`, "a\tb", "a\x00", "\x7f", "~", "!", `!#$%&'()*+,-./:;<=>?@[\]^_{|}~`, "ä", `"ä"`, "\u00a0", "🐶", "\xff",
		"8e03978e-40d5-43dd-bc93-6894a57f9324", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`, `"a";p=1`, `"a", "b"`, strings.Repeat("b", 10_000),
		strings.Repeat("x", 255), strings.Repeat("x", 256), `"` + strings.Repeat("x", 255) + `"`, `"` + strings.Repeat("x", 256) + `"`,
		`"` + strings.Repeat(`\"`, 255) + `"`, `"` + strings.Repeat(`\"`, 256) + `"`,
	} {
		f.Add(seed)
	}
	responses := map[string]string{} // by key
	f.Fuzz(func(t *testing.T, header string) {
		send := func(body string) *httptest.ResponseRecorder {
			return s.roundTrip(t, http.MethodPost, "/v1/pets", "", body, http.Header{"Idempotency-Key": {header}})
		}
		key, valid := parseIdempotencyKey(header)
		w := send(newRex)
		if !valid {
			wantError(t, w, "invalid_idempotency_key", nil)
			return
		}
		replayed := w.Header().Get("Idempotency-Replayed") == "true"
		if first, repeated := responses[key]; w.Code != http.StatusCreated || replayed != repeated || repeated && w.Body.String() != first {
			t.Fatalf("%q: got %d %s, replayed %t, want replayed %t of %q", header, w.Code, w.Body, replayed, repeated, first)
		}
		responses[key] = w.Body.String()
		wantError(t, send(`{"name":"Tom","categoryId":8}`), "idempotency_key_reused", nil)
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
