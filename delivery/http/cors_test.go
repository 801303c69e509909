package http_test

import (
	"slices"
	"strings"
	"testing"

	rest "example.com/petstore/delivery/http"
)

const (
	partner  = "Origin: https://shop.example.com"
	stranger = "Origin: https://evil.example.com"
	admitted = "Access-Control-Allow-Origin: https://shop.example.com"
	unknown  = "-Access-Control-Allow-Origin"
	wantPost = "Access-Control-Request-Method: POST"
	withAll  = "Access-Control-Request-Headers: authorization,content-type,idempotency-key"
)

func openToPartner(t *testing.T) *testServer {
	t.Helper()
	return newTestServer(t, rest.WithAllowedOrigins("https://shop.example.com", "http://localhost:3000"))
}

func TestPreflightIsAnsweredWithoutAKey(t *testing.T) {
	t.Parallel()
	s := openToPartner(t)
	preflight := func(path string, header ...string) request {
		return send("OPTIONS", path, append([]string{"-Authorization"}, header...)...)
	}
	allowed := want{status: 204}.with("Allow: GET, HEAD, POST, OPTIONS", admitted, "Access-Control-Allow-Methods: POST", "Access-Control-Max-Age: 600",
		"-Access-Control-Allow-Credentials")
	refused := want{status: 204}.with(unknown, "-Access-Control-Allow-Methods", "-Access-Control-Allow-Headers", "-Access-Control-Allow-Credentials")
	for _, e := range []testCase{
		{"a request with a body and a key", preflight("/v1/pets", partner, wantPost, withAll), allowed.with("Access-Control-Allow-Headers: authorization,content-type,idempotency-key")},
		{"headers as people write them", preflight("/v1/store/orders", partner, wantPost, "Access-Control-Request-Headers: Content-Type, Authorization"), allowed.with("Access-Control-Allow-Headers: Content-Type, Authorization")},
		{"a request without headers", preflight("/v1/pets", partner, wantPost), allowed.with("-Access-Control-Allow-Headers")},
		{"the deprecated route", preflight("/v1/pets/1", partner, "Access-Control-Request-Method: GET", withAll), want{status: 204}.with(announced...).with(admitted, "Allow: GET, HEAD, OPTIONS")},
		{"another origin", preflight("/v1/pets", stranger, wantPost, withAll), refused},
		{"no origin", preflight("/v1/pets", "Origin: null", wantPost, withAll), refused},
		{"another scheme", preflight("/v1/pets", "Origin: http://shop.example.com", wantPost), refused},
		{"another port", preflight("/v1/pets", "Origin: https://shop.example.com:8443", wantPost), refused},
		{"a longer name", preflight("/v1/pets", "Origin: https://shop.example.com.evil.com", wantPost), refused},
		{"another method", preflight("/v1/pets", partner, "Access-Control-Request-Method: DELETE"), refused},
	} {
		t.Run(e.rule, func(t *testing.T) {
			t.Parallel()
			a := s.expect(t, e.request, e.want)
			if vary := a.Header.Get("Vary"); !strings.Contains(vary, "Origin") {
				t.Errorf("the answer varies by %q", vary)
			}
		})
	}
}

// exposed are the headers that a page of another origin may read.
var exposed = []string{"Link", "Location", "X-Request-Id", "Retry-After", "RateLimit", "RateLimit-Policy", "Idempotency-Replayed", "ETag", "Deprecation", "Sunset"}

func TestPageOfAnAllowedOriginReadsEveryAnswer(t *testing.T) {
	t.Parallel()
	s := openToPartner(t)
	for rule, r := range map[string]request{
		"a list": get("/v1/pets"), "a new pet": post(newRex), "a malformed body": post(`{`), "no key": get("/v1/pets", "-Authorization"),
		"no pet": get("/v1/pets/42"), "no route": get("/v1/nothing"),
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			r.header = append(r.header, partner)
			a, err := s.send(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			a.check(t, want{}.with(admitted, "Vary: Origin", "-Access-Control-Allow-Credentials"))
			list := strings.Split(strings.ToLower(a.Header.Get("Access-Control-Expose-Headers")), ", ")
			for _, header := range exposed {
				if !slices.Contains(list, strings.ToLower(header)) {
					t.Errorf("the page may not read %s", header)
				}
			}
		})
	}
}

func TestOtherOriginsAreAnsweredWithoutLeave(t *testing.T) {
	t.Parallel()
	s := openToPartner(t)
	for _, header := range []string{stranger, "Origin: null", "X-No: origin"} {
		a, err := s.send(t.Context(), get("/v1/pets", header))
		if err != nil {
			t.Fatal(err)
		}
		a.check(t, ok(`[]`).with(unknown, "-Access-Control-Expose-Headers", "Vary: Origin"))
	}
}

func TestCORSIsOffByDefault(t *testing.T) {
	t.Parallel()
	for _, options := range [][]rest.Option{nil, {rest.WithAllowedOrigins()}, {rest.WithAllowedOrigins("https://shop.example.com"), rest.WithAllowedOrigins()}} {
		s := newTestServer(t, options...)
		s.expect(t, get("/v1/pets", partner), ok(`[]`).with(unknown, "-Vary"))
		s.expect(t, send("OPTIONS", "/v1/pets", partner, wantPost, withAll), want{status: 204}.with(unknown, "-Access-Control-Allow-Methods", "-Vary"))
	}
}
