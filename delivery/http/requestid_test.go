package http_test

import (
	"strings"
	"testing"
)

func TestValidRequestIDOfClientIsReturned(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, id := range []string{"a", "0", "abc-123", "A.b_C-9", strings.Repeat("x", 64), "..", "8e03978e-40d5-43dd-bc93-6894a57f9324"} {
		for _, path := range []string{"/v1/pets", "/v1/pets/none", "/livez", "/nowhere"} {
			s.expect(t, get(path, "X-Request-Id: "+id), wantResponse{}.withHeader("X-Request-Id: "+id))
			s.expect(t, get(path, "X-Request-Id: "+id, "-Authorization"), wantResponse{}.withHeader("X-Request-Id: "+id))
		}
	}
}

func TestInvalidRequestIDIsReplaced(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	generated := map[string]bool{}
	for _, header := range []string{
		"-X-Request-Id", "X-Request-Id: ", "X-Request-Id: a b", "X-Request-Id: ä", "X-Request-Id: a/b", "X-Request-Id: a:b", "X-Request-Id: <b>",
		"X-Request-Id: a,b", "X-Request-Id: a\tb", "X-Request-Id: \xff", "X-Request-Id: " + strings.Repeat("x", 65),
		"X-Request-Id: petstore_" + strings.Repeat("x", 49), // an API key
	} {
		id := s.expect(t, get("/v1/pets", header), ok(`[]`)).Header.Get("X-Request-Id")
		if !generatedRequestID.MatchString(id) || generated[id] {
			t.Errorf("%q: got id %q, want 32 new hexadecimal digits", header, id)
		}
		generated[id] = true
	}
}
