package http_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

func TestPanicIsInternalErrorAndOnlyLogged(t *testing.T) {
	t.Parallel()
	var nilPet *domain.Pet
	var doPanic func() domain.Pet
	s := newTestServer(t, withGet(func(context.Context, int64) (domain.Pet, error) { return doPanic(), nil }))
	for cause, panics := range map[string]func() domain.Pet{
		"a string":                      func() domain.Pet { panic("a string") },
		"an error value":                func() domain.Pet { panic(errors.New("an error value")) },
		"there is no pet with the id 1": func() domain.Pet { panic(domain.PetNotFound(1)) },
		"nil pointer":                   func() domain.Pet { return *nilPet },
		"panic called with nil":         func() domain.Pet { panic(nil) },
		"index out of range [1] with":   func() domain.Pet { return []domain.Pet{}[len("x")] },
	} {
		doPanic = panics
		s.log.TakeAll()
		res := s.expect(t, get("/v1/pets/1"), rejected(500, "internal_error").withHeader(deprecationHeaders...).withoutText(cause, "middleware_test"))
		if lines := s.accessLog(t); len(lines) != 1 || lines[0]["status"] != int64(500) {
			t.Errorf("%s: got access log %v, want one line with status 500", cause, lines)
		}
		entries := s.log.FilterMessage("panic").All()
		if len(entries) != 1 {
			t.Fatalf("%s: got %d panics in the log, want 1", cause, len(entries))
		}
		fields := entries[0].ContextMap()
		if fields["request_id"] != res.Header.Get("X-Request-Id") || !strings.Contains(fmt.Sprint(fields["panic"]), cause) {
			t.Errorf("got log entry %v, want %s of request %s", fields, cause, res.Header.Get("X-Request-Id"))
		}
		if !strings.Contains(fmt.Sprint(fields["stack"]), "middleware_test.go") {
			t.Errorf("got stack %v, want it to contain middleware_test.go", fields["stack"])
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestAuthenticatorPanicIsInternalError(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { panic("panic value") }))
	s.expect(t, get("/v1/pets"), rejected(500, "internal_error").withoutText("panic value"))
}

func TestAbortHandlerPanicClosesConnection(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withGet(func(context.Context, int64) (domain.Pet, error) { panic(http.ErrAbortHandler) }))
	if res, err := s.send(t.Context(), get("/v1/pets/1")); err == nil {
		t.Errorf("got status %d with body %s, want a closed connection", res.StatusCode, res.body)
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

// The cause of signal.NotifyContext is context.Canceled for errors.Is, as if the client had disconnected.
func TestRequestIsUnavailableWhenTheHostEndsItsContext(t *testing.T) {
	t.Parallel()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP)
	defer stop()
	pets, s := newBlockingGet(), newUnstartedServer(t)
	engine := gin.New()
	if err := s.api(t, withGet(pets.get)).Mount(engine.Group("/v1")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(engine)
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	defer server.Close()
	s.url, s.client = server.URL, server.Client()
	ended := make(chan error, 1)
	go func() { <-pets.started; ended <- syscall.Kill(os.Getpid(), syscall.SIGHUP) }()
	s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable"))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if line := s.waitForAccessLog(t); line["status"] != int64(503) {
		t.Errorf("got the access log %v, want the status 503", line)
	}
}

// Each request fails two consecutive checks; the response is that of the first.
func TestChecksRunInPublishedOrder(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPet(newRex, "Idempotency-Key: used"), created(""))

	const (
		noAPIKey   = "-Authorization"
		textPlain  = "Content-Type: text/plain"
		invalidKey = "Idempotency-Key: not valid"
		usedKey    = "Idempotency-Key: used"
	)
	readOnly := "Authorization: Bearer " + s.createReadOnlyKey(t)
	tooLarge := strings.Repeat("x", 64<<10+1)
	for _, tc := range []testCase{
		{"path before method", newRequest("DELETE", "/v1/nothing"), rejected(404, "not_found")},
		{"path before API key", get("/v1/nothing", noAPIKey), rejected(404, "not_found")},
		{"method before API key", newRequest("DELETE", "/v1/pets", noAPIKey), rejected(405, "method_not_allowed")},
		{"API key before media type", postPet(`{}`, noAPIKey, textPlain), rejected(401, "missing_api_key")},
		{"API key before size", postPet(tooLarge, noAPIKey), rejected(401, "missing_api_key")},
		{"API key before query", get("/v1/pets?limit=0", noAPIKey), rejected(401, "missing_api_key")},
		{"API key before path id", get("/v1/pets/none", noAPIKey), rejected(401, "missing_api_key")},
		{"method before permission", newRequest("DELETE", "/v1/pets", readOnly), rejected(405, "method_not_allowed")},
		{"permission before media type", postPet(`{}`, readOnly, textPlain), rejected(403, "forbidden")},
		{"permission before size", postPet(tooLarge, readOnly), rejected(403, "forbidden")},
		{"permission before JSON", postPet(`{`, readOnly), rejected(403, "forbidden")},
		{"permission before path id", newRequest("POST", "/v1/store/orders/none/cancel", readOnly), rejected(403, "forbidden")},
		{"permission before idempotency key reuse", postPet(newRex, readOnly, usedKey), rejected(403, "forbidden")},
		{"media type before size", postPet(tooLarge, textPlain), rejected(415, "unsupported_media_type")},
		{"size before JSON", postPet(tooLarge), rejected(413, "body_too_large")},
		{"JSON before values", postPet(`{"name":"","categoryId":"x"`), rejected(400, "invalid_json")},
		{"JSON before idempotency key format", postPet(`{`, invalidKey), rejected(400, "invalid_json")},
		{"values before idempotency key format", postPet(`{"name":""}`, invalidKey), rejected(400, "validation_failed")},
		{"values before idempotency key reuse", postPet(`{"name":""}`, usedKey), rejected(400, "validation_failed")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s.expect(t, tc.request, tc.want)
		})
	}
}

// The check of every response compares the id with that of the request.
func TestRequestIDOfClientIsReturnedIfValid(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	seen := map[string]bool{}
	for _, header := range []string{
		"X-Request-Id: a", "X-Request-Id: 0", "X-Request-Id: A.b_C-9", "X-Request-Id: ..", "X-Request-Id: " + strings.Repeat("x", 64),
		"-X-Request-Id", "X-Request-Id: ", "X-Request-Id: a b", "X-Request-Id: ä", "X-Request-Id: a/b", "X-Request-Id: a:b", "X-Request-Id: <b>",
		"X-Request-Id: a,b", "X-Request-Id: a\tb", "X-Request-Id: \xff", "X-Request-Id: " + strings.Repeat("x", 65),
		"X-Request-Id: petstore_" + strings.Repeat("x", 49), // an API key
	} {
		for _, path := range []string{"/livez", "/nowhere", "/v1/pets/none", "/v1/pets"} {
			s.expect(t, get(path, header, "-Authorization"), wantResponse{})
		}
		id := s.expect(t, get("/v1/pets", header), ok(`[]`)).Header.Get("X-Request-Id")
		if seen[id] {
			t.Errorf("%q: got id %q again", header, id)
		}
		seen[id] = true
	}
}

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
	for _, r := range []request{
		get("/v1/pets"), postPet(newRex), postPet(`{`), get("/v1/pets", "-Authorization"), get("/v1/pets/42"), get("/v1/nothing"), get("/v1/pets%2F1"),
	} {
		r.header = append(r.header, allowedOrigin)
		res := s.expectOnly(t, r, wantResponse{}.withHeader(originAllowed, "Vary: Origin", "-Access-Control-Allow-Credentials"))
		got := strings.Split(strings.ToLower(res.Header.Get("Access-Control-Expose-Headers")), ", ")
		for _, header := range exposedHeaders {
			if !slices.Contains(got, strings.ToLower(header)) {
				t.Errorf("got exposed headers %q, want %s among them", got, header)
			}
		}
	}
	for _, header := range []string{otherOrigin, "Origin: null", "X-No: origin"} {
		s.expectOnly(t, get("/v1/pets", header), ok("").withHeader(originNotAllowed, "-Access-Control-Expose-Headers", "Vary: Origin"))
	}
}

func TestCORSIsOffByDefault(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for path := range allowHeaders(t) {
		for _, method := range []string{http.MethodGet, http.MethodOptions} {
			s.expect(t, newRequest(method, path, allowedOrigin, requestMethodPost, requestHeaders),
				wantResponse{}.withHeader(originNotAllowed, "-Access-Control-Allow-Methods", "-Access-Control-Allow-Headers", "-Vary"))
		}
	}
}
