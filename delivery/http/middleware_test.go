package http_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// Each request fails two checks. The response must be the error of the first check.
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
	readOnly := "Authorization: Bearer " + newKey(t, s.keys, apikey.ReadOnly)
	tooLarge := strings.Repeat("x", 64<<10+1)
	for name, test := range map[string]struct {
		request request
		want    wantResponse
	}{
		"path before method":                     {newRequest("DELETE", "/v1/nothing", noAPIKey), rejected(404, "not_found")},
		"method before API key":                  {newRequest("DELETE", "/v1/pets", noAPIKey), rejected(405, "method_not_allowed")},
		"API key before media type":              {postPet(`{}`, noAPIKey, textPlain), rejected(401, "missing_api_key")},
		"API key before size":                    {postPet(tooLarge, noAPIKey), rejected(401, "missing_api_key")},
		"API key before query":                   {get("/v1/pets?limit=0", noAPIKey), rejected(401, "missing_api_key")},
		"method before permission":               {newRequest("DELETE", "/v1/pets", readOnly), rejected(405, "method_not_allowed")},
		"permission before media type":           {postPet(`{}`, readOnly, textPlain), rejected(403, "forbidden")},
		"permission before size":                 {postPet(tooLarge, readOnly), rejected(403, "forbidden")},
		"permission before path id":              {newRequest("POST", "/v1/store/orders/none/cancel", readOnly), rejected(403, "forbidden")},
		"permission before idempotency key":      {postPet(newRex, readOnly, usedKey), rejected(403, "forbidden")},
		"media type before size":                 {postPet(tooLarge, textPlain), rejected(415, "unsupported_media_type")},
		"size before JSON":                       {postPet(tooLarge), rejected(413, "body_too_large")},
		"JSON before values":                     {postPet(`{"name":"","categoryId":"x"`), rejected(400, "invalid_json")},
		"JSON before idempotency key format":     {postPet(`{`, invalidKey), rejected(400, "invalid_json")},
		"values before idempotency key format":   {postPet(`{"name":""}`, invalidKey), rejected(400, "validation_failed")},
		"values before reuse of idempotency key": {postPet(`{"name":""}`, usedKey), rejected(400, "validation_failed")},
	} {
		t.Run(name, func(t *testing.T) { s.expect(t, test.request, test.want) })
	}
}

const (
	allowedOrigin     = "Origin: https://shop.example.com"
	otherOrigin       = "Origin: https://shop.example.com.evil.com"
	requestMethodPost = "Access-Control-Request-Method: POST"
	requestHeaders    = "Access-Control-Request-Headers: authorization,content-type,idempotency-key"
	originAllowed     = "Access-Control-Allow-Origin: https://shop.example.com"
	originNotAllowed  = "-Access-Control-Allow-Origin"
	noCredentials     = "-Access-Control-Allow-Credentials"
	varyPreflight     = "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
)

var preflightAllowed = wantResponse{status: 204}.withHeader("Allow: GET, HEAD, POST, OPTIONS", originAllowed, "Access-Control-Allow-Methods: POST",
	"Access-Control-Allow-Headers: authorization,content-type,idempotency-key", "Access-Control-Max-Age: 600", noCredentials, varyPreflight)

func allowOrigin(o *apiOptions) {
	o.AllowedOrigins = []string{"https://shop.example.com", "capacitor://localhost"}
}

// A browser sends a preflight without the API key.
func TestPagesOfAllowedOriginsCanUseTheAPI(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, allowOrigin)
	notAllowed := wantResponse{status: 204}.withHeader(originNotAllowed, "-Access-Control-Allow-Methods", "-Access-Control-Allow-Headers",
		noCredentials, varyPreflight)
	s.expect(t, newRequest("OPTIONS", "/v1/pets", "-Authorization", allowedOrigin, requestMethodPost, requestHeaders), preflightAllowed)
	s.expect(t, newRequest("OPTIONS", "/v1/pets", "-Authorization", allowedOrigin, "Access-Control-Request-Method: TRACE"), notAllowed)
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		corrects := newRequest("OPTIONS", "/v1/pets/1", "-Authorization", allowedOrigin, "Access-Control-Request-Method: "+method, requestHeaders)
		s.expect(t, corrects, wantResponse{status: 204}.withHeader(originAllowed, "Access-Control-Allow-Methods: "+method))
	}
	for _, origin := range []string{otherOrigin, "Origin: null", "Origin: http://shop.example.com", "Origin: https://shop.example.com:8443"} {
		s.expect(t, newRequest("OPTIONS", "/v1/pets", "-Authorization", origin, requestMethodPost, requestHeaders), notAllowed)
		s.expectOnly(t, get("/v1/pets", origin), ok("").withHeader(originNotAllowed, "-Access-Control-Expose-Headers", "Vary: Origin"))
	}
	exposed := "Access-Control-Expose-Headers: Age, Changes-Position, Deprecation, Etag, Idempotency-Replayed, Link, Location, Ratelimit, " +
		"Ratelimit-Policy, Retry-After, Sunset, Www-Authenticate, X-Request-Id"
	for _, r := range []request{get("/v1/pets"), postPet(`{`), get("/v1/pets", "-Authorization"), get("/v1/nothing"), get("/v1/pets%2F1")} {
		r.header = append(r.header, allowedOrigin)
		s.expectOnly(t, r, wantResponse{}.withHeader(originAllowed, "Vary: Origin", exposed, noCredentials))
	}
	s.expectOnly(t, get("/v1/pets"), ok("").withHeader(originNotAllowed, "Vary: Origin"))
	s.expectOnly(t, get("/v1/pets", "Origin: capacitor://localhost"), ok("").withHeader("Access-Control-Allow-Origin: capacitor://localhost"))
}

func TestWildcardOfAnOriginIsOneLabelOrThePort(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, func(o *apiOptions) {
		o.AllowedOrigins = []string{"https://shop.example", "https://*.shop.example", "http://localhost:*"}
	})
	for origin, allowed := range map[string]bool{
		"https://shop.example": true, "https://a.shop.example": true, "https://my-shop_1.shop.example": true, "https://A.Shop.Example": true,
		"http://localhost:3000": true, "http://localhost:80": true,
		"https://a.b.shop.example": false, "https://.shop.example": false, "https://ashop.example": false, "https://a-shop.example": false,
		"https://a.shopXexample": false, "https://a.shop.example.evil.com": false, "https://evil.com/.shop.example": false,
		"https://evil.com?.shop.example": false, "https://evil.com#.shop.example": false, "https://evil.com:80.shop.example": false,
		"https://me@a.shop.example": false, "https://a.shop.example:8443": false, "http://a.shop.example": false, "https://a.shop.example/": false,
		"xhttps://a.shop.example": false, "https://shop.example https://a.shop.example": false, "https://ä.shop.example": false,
		"http://localhost": false, "http://localhost:": false, "http://localhost:3000/": false, "http://localhost:3000.evil.com": false,
		"http://localhost.evil.com:3000": false, "null": false, "*": false,
	} {
		header := originNotAllowed
		if allowed {
			header = "Access-Control-Allow-Origin: " + origin
		}
		s.expectOnly(t, get("/v1/pets", "Origin: "+origin), ok("").withHeader(header, "Vary: Origin"))
		preflight := newRequest("OPTIONS", "/v1/pets", "-Authorization", "Origin: "+origin, requestMethodPost, requestHeaders)
		s.expect(t, preflight, wantResponse{status: 204}.withHeader(header, varyPreflight))
	}
	all := newTestServer(t, func(o *apiOptions) { o.AllowedOrigins = []string{"*"} })
	all.expectOnly(t, get("/v1/pets", otherOrigin), ok("").withHeader("Access-Control-Allow-Origin: *", noCredentials))
}

// The engine of a host may remove extra slashes and ".." from the path that it matches.
func TestEncodedSlashIsNoSeparatorOnAnyEngine(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	s.createPets(t, newPets(1, "")...)
	engine := gin.New()
	engine.RemoveExtraSlash = true
	s.startHost(t, engine, s.api(t))
	for _, path := range []string{"/v1%2F/pets", "/v1//pets%2F1", "/x%2F..%2Fv1/pets", "/x%2f../v1//pets/1", "/v1/pets%2F%2F1"} {
		s.expectOnly(t, get(path), rejected(404, "not_found"))
	}
	s.expectOnly(t, get("//v1//pets/%31"), ok(createdRex))
}

// A browser sends a preflight without credentials and ignores a response without CORS headers.
func TestMiddlewareOfHostRunsWithinTheAPI(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	signIn := func(c *gin.Context) {
		if c.GetHeader("From") == "" {
			c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "sign in first"})
		}
		c.Set("user", c.GetHeader("From"))
	}
	api := s.api(t, allowOrigin, withAuthenticator(func(c *gin.Context) (string, error) { return c.GetString("user"), nil }))
	s.startHost(t, gin.New(), api, signIn)
	for _, path := range []string{"/v1/pets", "/v1/pets/1", "/v1/store/orders/1/deliver"} {
		preflight := newRequest("OPTIONS", path, "-Authorization", allowedOrigin, "Access-Control-Request-Method: GET", requestHeaders)
		s.expect(t, preflight, wantResponse{status: 204}.withHeader(originAllowed, "Access-Control-Allow-Methods: GET"))
	}
	want := wantResponse{status: 401, body: `{"error":"sign in first"}`}.withHeader(originAllowed)
	s.expectOnly(t, get("/v1/pets/1", allowedOrigin), want.withHeader(deprecationHeaders(1)...))
	s.expectOnly(t, get("/v1/pets", "From: ann"), ok(`[]`))
	lines := s.accessLog(t)
	if last := lines[len(lines)-1]; len(lines) != 5 || last["caller"] != "ann" {
		t.Errorf("got access log %v, want 5 lines and caller ann in the last", lines)
	}
}

func TestPanicIsInternalErrorAndOnlyLogged(t *testing.T) {
	t.Parallel()
	var inFlight string
	var doPanic func()
	var s *testServer
	s = newTestServer(t, withCall(func(context.Context) error {
		inFlight = s.scrape(t)["petstore_http_requests_in_flight"]
		doPanic()
		return nil
	}))
	for cause, panics := range map[string]func(){
		"a string":                      func() { panic("a string") },
		"there is no pet with the id 1": func() { panic(domain.PetNotFound(1)) },
		"an error value":                func() { panic(errors.New("an error value")) },
		"panic called with nil":         func() { panic(nil) },
		"index out of range [1] with":   func() { _ = []int{}[len("x")] },
	} {
		doPanic = panics
		s.log.TakeAll()
		want := rejected(500, "internal_error").withHeader(deprecationHeaders(1)...).withoutText(cause, "accesslog_test")
		res := s.expect(t, get("/v1/pets/1"), want)
		entries, requests := s.log.FilterMessage("panic").All(), s.accessLog(t)
		if len(entries) != 1 || len(requests) != 1 || requests[0]["status"] != int64(500) {
			t.Fatalf("%s: got the log %v, want one panic and one line with status 500", cause, s.log.All())
		}
		fields := entries[0].ContextMap()
		if text := fmt.Sprint(fields); fields["request_id"] != res.Header.Get("X-Request-Id") || !strings.Contains(text, cause) ||
			!strings.Contains(text, "middleware_test.go") {
			t.Errorf("got log entry %v, want %s with the request id and the stack", fields, cause)
		}
	}
	panics := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { panic("a string") }))
	panics.expect(t, get("/v1/pets"), rejected(500, "internal_error").withoutText("a string"))
	doPanic = func() { panic(fmt.Errorf("wrapped: %w", http.ErrAbortHandler)) }
	if res, err := s.send(t.Context(), get("/v1/pets/1")); err == nil {
		t.Errorf("got %v, want a closed connection", res.Response)
	}
	if after := s.scrape(t)["petstore_http_requests_in_flight"]; inFlight != "1" || after != "0" {
		t.Errorf("got %q requests in flight during a request and %q after it, want 1 and 0", inFlight, after)
	}
}
