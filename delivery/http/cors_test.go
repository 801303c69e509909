package http_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	allowedOrigin     = "Origin: https://shop.example.com"
	otherOrigin       = "Origin: https://evil.example.com"
	requestMethodPost = "Access-Control-Request-Method: POST"
	requestHeaders    = "Access-Control-Request-Headers: authorization,content-type,idempotency-key"
	originAllowed     = "Access-Control-Allow-Origin: https://shop.example.com"
	originNotAllowed  = "-Access-Control-Allow-Origin"
)

func newCORSServer(t *testing.T) *testServer {
	t.Helper()
	return newTestServer(t, withAllowedOrigins("https://shop.example.com", "http://localhost:3000"))
}

func TestPreflightNeedsNoAPIKey(t *testing.T) {
	t.Parallel()
	s := newCORSServer(t)
	preflight := func(path string, header ...string) request {
		return newRequest("OPTIONS", path, append([]string{"-Authorization"}, header...)...)
	}
	allowed := wantResponse{status: 204}.withHeader("Allow: GET, HEAD, POST, OPTIONS", originAllowed, "Access-Control-Allow-Methods: POST", "Access-Control-Max-Age: 600",
		"-Access-Control-Allow-Credentials")
	notAllowed := wantResponse{status: 204}.withHeader(originNotAllowed, "-Access-Control-Allow-Methods", "-Access-Control-Allow-Headers", "-Access-Control-Allow-Credentials")
	for _, tc := range []testCase{
		{"all headers", preflight("/v1/pets", allowedOrigin, requestMethodPost, requestHeaders), allowed.withHeader("Access-Control-Allow-Headers: authorization,content-type,idempotency-key")},
		{"headers with spaces", preflight("/v1/store/orders", allowedOrigin, requestMethodPost, "Access-Control-Request-Headers: Content-Type, Authorization"), allowed.withHeader("Access-Control-Allow-Headers: Content-Type, Authorization")},
		{"no headers", preflight("/v1/pets", allowedOrigin, requestMethodPost), allowed.withHeader("-Access-Control-Allow-Headers")},
		{"deprecated route", preflight("/v1/pets/1", allowedOrigin, "Access-Control-Request-Method: GET", requestHeaders), wantResponse{status: 204}.withHeader(deprecationHeaders...).withHeader(originAllowed, "Allow: GET, HEAD, OPTIONS")},
		{"another origin", preflight("/v1/pets", otherOrigin, requestMethodPost, requestHeaders), notAllowed},
		{"null origin", preflight("/v1/pets", "Origin: null", requestMethodPost, requestHeaders), notAllowed},
		{"another scheme", preflight("/v1/pets", "Origin: http://shop.example.com", requestMethodPost), notAllowed},
		{"another port", preflight("/v1/pets", "Origin: https://shop.example.com:8443", requestMethodPost), notAllowed},
		{"origin as prefix", preflight("/v1/pets", "Origin: https://shop.example.com.evil.com", requestMethodPost), notAllowed},
		{"another method", preflight("/v1/pets", allowedOrigin, "Access-Control-Request-Method: DELETE"), notAllowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			res := s.expect(t, tc.request, tc.want)
			if vary := res.Header.Get("Vary"); !strings.Contains(vary, "Origin") {
				t.Errorf("got Vary %q, want it to contain Origin", vary)
			}
		})
	}
}

// exposedHeaders are the response headers that a page of an allowed origin can read.
var exposedHeaders = []string{"Link", "Location", "X-Request-Id", "Retry-After", "RateLimit", "RateLimit-Policy", "Idempotency-Replayed", "ETag", "Deprecation", "Sunset"}

func TestAllowedOriginCanReadEveryResponse(t *testing.T) {
	t.Parallel()
	s := newCORSServer(t)
	for name, r := range map[string]request{
		"list": get("/v1/pets"), "created pet": postPet(newRex), "malformed body": postPet(`{`), "no key": get("/v1/pets", "-Authorization"),
		"unknown pet": get("/v1/pets/42"), "unknown path": get("/v1/nothing"), "encoded slash": get("/v1/pets%2F1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.header = append(r.header, allowedOrigin)
			res, err := s.send(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			res.check(t, wantResponse{}.withHeader(originAllowed, "Vary: Origin", "-Access-Control-Allow-Credentials"))
			got := strings.Split(strings.ToLower(res.Header.Get("Access-Control-Expose-Headers")), ", ")
			for _, header := range exposedHeaders {
				if !slices.Contains(got, strings.ToLower(header)) {
					t.Errorf("got exposed headers %q, want %s among them", got, header)
				}
			}
		})
	}
}

func TestOtherOriginsGetNoCORSHeaders(t *testing.T) {
	t.Parallel()
	s := newCORSServer(t)
	for _, header := range []string{otherOrigin, "Origin: null", "X-No: origin"} {
		res, err := s.send(t.Context(), get("/v1/pets", header))
		if err != nil {
			t.Fatal(err)
		}
		res.check(t, ok(`[]`).withHeader(originNotAllowed, "-Access-Control-Expose-Headers", "Vary: Origin"))
	}
}

func TestCORSIsOffByDefault(t *testing.T) {
	t.Parallel()
	preflight := []string{otherOrigin, "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: authorization"}
	for _, options := range [][]option{nil, {withAllowedOrigins()}, {withAllowedOrigins("https://shop.example.com"), withAllowedOrigins()}} {
		s := newTestServer(t, options...)
		s.expect(t, get("/v1/pets", allowedOrigin), ok(`[]`).withHeader(originNotAllowed, "-Vary"))
		s.expect(t, newRequest("OPTIONS", "/v1/pets", allowedOrigin, requestMethodPost, requestHeaders), wantResponse{status: 204}.withHeader(originNotAllowed, "-Access-Control-Allow-Methods", "-Vary"))
		for path := range allowHeaders(t) {
			for _, method := range []string{http.MethodGet, http.MethodOptions} {
				s.expect(t, newRequest(method, path, preflight...), wantResponse{}.withHeader(originNotAllowed, "-Access-Control-Allow-Headers", "-Vary"))
			}
		}
	}
}
