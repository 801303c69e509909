package http_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// Each request fails two checks; the response is that of the first.
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
	readOnly := "Authorization: Bearer " + newKey(t, s.keys.CreateReadOnly)
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

func allowOrigin(o *rest.Options) {
	o.AllowedOrigins = []string{"https://shop.example.com", "capacitor://localhost"}
}

// A browser sends a preflight without the API key.
func TestPagesOfAllowedOriginsCanUseTheAPI(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, allowOrigin)
	notAllowed := wantResponse{status: 204}.withHeader(originNotAllowed, "-Access-Control-Allow-Methods", "-Access-Control-Allow-Headers",
		noCredentials, varyPreflight)
	s.expect(t, newRequest("OPTIONS", "/v1/pets", "-Authorization", allowedOrigin, requestMethodPost, requestHeaders), preflightAllowed)
	s.expect(t, newRequest("OPTIONS", "/v1/pets", "-Authorization", allowedOrigin, "Access-Control-Request-Method: PUT"), notAllowed)
	for _, method := range []string{"PATCH", "DELETE"} {
		corrects := newRequest("OPTIONS", "/v1/pets/1", "-Authorization", allowedOrigin, "Access-Control-Request-Method: "+method, requestHeaders)
		s.expect(t, corrects, wantResponse{status: 204}.withHeader(originAllowed, "Access-Control-Allow-Methods: "+method))
	}
	for _, origin := range []string{otherOrigin, "Origin: null", "Origin: http://shop.example.com", "Origin: https://shop.example.com:8443"} {
		s.expect(t, newRequest("OPTIONS", "/v1/pets", "-Authorization", origin, requestMethodPost, requestHeaders), notAllowed)
		s.expectOnly(t, get("/v1/pets", origin), ok("").withHeader(originNotAllowed, "-Access-Control-Expose-Headers", "Vary: Origin"))
	}
	exposed := "Access-Control-Expose-Headers: Changes-Position, Deprecation, Etag, Idempotency-Replayed, Link, Location, Ratelimit, " +
		"Ratelimit-Policy, Retry-After, Sunset, Www-Authenticate, X-Request-Id"
	for _, r := range []request{get("/v1/pets"), postPet(`{`), get("/v1/pets", "-Authorization"), get("/v1/nothing"), get("/v1/pets%2F1")} {
		r.header = append(r.header, allowedOrigin)
		s.expectOnly(t, r, wantResponse{}.withHeader(originAllowed, "Vary: Origin", exposed, noCredentials))
	}
	s.expectOnly(t, get("/v1/pets"), ok("").withHeader(originNotAllowed, "Vary: Origin"))
	s.expectOnly(t, get("/v1/pets", "Origin: capacitor://localhost"), ok("").withHeader("Access-Control-Allow-Origin: capacitor://localhost"))
}

const (
	bearerChallenge       = `WWW-Authenticate: Bearer realm="petstore"`
	invalidTokenChallenge = `WWW-Authenticate: Bearer realm="petstore", error="invalid_token"`
	scopeChallenge        = `WWW-Authenticate: Bearer realm="petstore", error="insufficient_scope"`
)

func TestAPIKeyIsReadOnlyFromAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	missing := rejected(401, "missing_api_key").withHeader(bearerChallenge)
	invalid := rejected(401, "invalid_api_key").withHeader(invalidTokenChallenge)
	for want, values := range map[*wantResponse][]string{
		{status: 200, body: `[]`}: {"Bearer KEY", "bearer KEY", "bEaReR KEY"},
		&missing:                  {"", "Bearer", "Bearer ", "KEY", "Basic KEY", "Bearers KEY", "Bearer\tKEY"},
		&invalid:                  {"Bearer KEY, Bearer KEY", "Bearer KEY x", `Bearer "KEY"`, "Bearer x", "Bearer ä", "Bearer " + strings.Repeat("0", 10_000)},
	} {
		for _, value := range values {
			s.expect(t, get("/v1/pets", "Authorization: "+value), *want)
		}
	}
	for _, header := range []string{"X-Api-Key: KEY", "Proxy-Authorization: Bearer KEY", "Cookie: access_token=KEY"} {
		s.expect(t, get("/v1/pets?access_token="+s.key+"&api_key="+s.key, "-Authorization", header), missing)
	}
	for _, first := range []string{"Bearer KEY", "Basic x"} {
		s.expect(t, get("/v1/pets", "Authorization: "+first, "Authorization: Bearer KEY"), invalid)
	}
}

func TestEveryOperationRequiresKeyThatAllowsIt(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(1000, time.Minute))
	s.createPets(t, newPets(1, domain.PetAvailable)...)
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	readOnly, unknown := "Authorization: Bearer "+newKey(t, s.keys.CreateReadOnly), "Authorization: Bearer "+apikey.Generate()
	forbidden := rejected(403, "forbidden", "created without --read-only").withHeader(scopeChallenge, `RateLimit-Policy: "default";q=1000;w=60`)
	for range 2 { // also when the key is cached
		for _, r := range documentedOperations() {
			methods := map[string]wantResponse{r.method: forbidden}
			if r.method == http.MethodGet {
				methods = map[string]wantResponse{"GET": {status: 200}, "HEAD": {status: 200}}
			}
			for method, want := range methods {
				s.expect(t, newRequest(method, r.path, "-Authorization"), wantResponse{status: 401}.withHeader(bearerChallenge))
				s.expect(t, newRequest(method, r.path, unknown), wantResponse{status: 401}.withHeader(invalidTokenChallenge))
				s.expect(t, newRequest(method, r.path, readOnly), want)
			}
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":7,"status":"pending"}]`))
	check(t, s.keys.Revoke(t.Context(), 2))
	s.expect(t, postPet(newRex, readOnly), rejected(401, "invalid_api_key"))
}

func TestAuthenticatorNamesCallerOrRejects(t *testing.T) {
	t.Parallel()
	var challenge, caller string
	var err error
	s := newTestServer(t, withAuthenticator(func(c *gin.Context) (string, error) {
		if challenge != "" {
			c.Header("WWW-Authenticate", challenge)
		}
		return caller, err
	}))
	s.expectOnly(t, get("/v1/pets"), rejected(401, "unauthenticated", "sign in first").withHeader("-WWW-Authenticate"))
	err = apikey.Invalid(nil)
	s.expectOnly(t, get("/v1/pets"), rejected(401, "invalid_api_key").withHeader("-WWW-Authenticate"))
	challenge = `Basic realm="team"`
	s.expect(t, get("/v1/pets"), rejected(401, "invalid_api_key").withHeader(`WWW-Authenticate: Basic realm="team"`))
	challenge, err = "", fmt.Errorf("authenticate: %w", domain.Forbidden("guests are not allowed"))
	for _, r := range documentedOperations() {
		s.expect(t, r, rejected(403, "forbidden", "guests are not allowed").withoutText("authenticate").withHeader("-WWW-Authenticate"))
	}
	err = nil
	const one = "Idempotency-Key: one"
	for _, test := range []struct {
		caller string
		want   wantResponse
	}{
		{"ann", created(createdRex).withHeader(notReplayed)},
		{"bob", created(`{"id":2,"name":"Rex","categoryId":7}`).withHeader(notReplayed)},
		{"ann", created(createdRex).withHeader(replayed)},
	} {
		caller = test.caller
		s.expect(t, postPet(newRex, one), test.want)
	}
}

// The keys that replace each other are one scope, also while several are valid. A key that another
// client got, and the callers of a host that uses the same store, are others, whatever their names.
func TestRotatedKeyKeepsItsIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	rotate := func(id int64, overlap time.Duration) string {
		key, err := s.keys.Rotate(t.Context(), id, overlap)
		check(t, err)
		return key
	}
	add := func(want wantResponse, header string) {
		t.Helper()
		s.expect(t, postPet(newRex, "Idempotency-Key: one", header), want)
	}
	again := created(createdRex).withHeader(replayed)
	add(created(createdRex).withHeader(notReplayed), "Authorization: Bearer "+s.key)
	other, second := newKey(t, s.keys.Create), rotate(1, time.Hour)
	add(again, "Authorization: Bearer "+second)
	add(again, "Authorization: Bearer "+rotate(3, 0))
	add(rejected(401, "invalid_api_key"), "Authorization: Bearer "+second)
	add(again, "Authorization: Bearer "+s.key)
	add(created(`{"id":2,"name":"Rex","categoryId":7}`).withHeader(notReplayed), "Authorization: Bearer "+other)
	s.start(t, s.engine(t, withAuthenticator(func(c *gin.Context) (string, error) { return c.GetHeader("Caller"), nil })))
	for i, caller := range []string{"1", ":1", "2"} {
		add(created(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, 3+i)).withHeader(notReplayed), "Caller: "+caller)
	}
}

// The caller is stored, indexed, logged and a label of metrics.
func TestCallerWithoutAValidNameIsAnErrorOfTheHost(t *testing.T) {
	t.Parallel()
	caller := strings.Repeat("€", 500)
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { return caller, nil }))
	s.expect(t, postPet(newRex, "Idempotency-Key: "+strings.Repeat("x", 255)), created(createdRex))
	for _, caller = range []string{"\xff", "a\x00", "a\n", " ", strings.Repeat("x", 501), strings.Repeat("x", 1<<20)} {
		for _, r := range []request{get("/v1/pets/1"), postPet(newRex, "Idempotency-Key: one")} {
			s.log.TakeAll()
			s.expect(t, r, rejected(500, "internal_error"))
			failures, lines := s.log.FilterMessage("request failed").All(), s.accessLog(t)
			if len(failures) != 1 || s.log.Len() != 2 || lines[0]["caller"] != "" {
				t.Errorf("%.10q: got the log %.1000v, want one failure, and no caller in the access log", caller, s.log.All())
			}
		}
	}
	caller = "ann"
	s.expect(t, get("/v1/pets"), ok("["+createdRex+"]"))
}

// limited returns a response with the headers of a limit of 3 requests per minute.
func limited(want wantResponse, remaining, window int) wantResponse {
	return want.withHeader(`RateLimit-Policy: "default";q=3;w=60`, fmt.Sprintf(`RateLimit: "default";r=%d;t=%d`, remaining, window))
}

// rateLimited is a 429 of the same limit. Retry-After is not earlier than the end of the
// effective window (draft-ietf-httpapi-ratelimit-headers-11, section 6).
func rateLimited(retryAfter int) wantResponse {
	return limited(rejected(429, "rate_limited"), 0, retryAfter).withHeader("Retry-After: " + strconv.Itoa(retryAfter))
}

func TestRateLimitAllowsRequestsPerWindow(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(3, time.Minute))
	s.expect(t, get("/v1/pets"), limited(ok(`[]`), 2, 20))
	s.expect(t, postPet(newRex), limited(created(""), 1, 20))
	s.expect(t, get("/v1/pets/42"), limited(rejected(404, "pet_not_found"), 0, 20))
	for _, window := range []int{20, 1} {
		s.expect(t, get("/v1/pets"), rateLimited(window))
		s.clock.advance(19 * time.Second)
	}
	s.expect(t, get("/v1/pets"), limited(ok(""), 0, 2))
	s.clock.advance(24 * time.Hour)
	s.expect(t, newRequest("HEAD", "/v1/store/orders"), limited(wantResponse{status: 200}, 2, 20))
}

func TestRateLimitCountsRequestsOfEachCaller(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(3, time.Minute))
	for _, r := range []request{
		get("/v1/pets", "-Authorization"), get("/v1/pets", "Authorization: Bearer x"), get("/v1/nothing"), newRequest("DELETE", "/v1/pets"),
		newRequest("OPTIONS", "/v1/pets"), get("/livez"), get("/v1/pets/1", "-Authorization"), newRequest("OPTIONS", "/v1/pets/1"),
	} {
		s.expect(t, r, wantResponse{}.withHeader("-RateLimit", "-RateLimit-Policy"))
	}
	readOnly := "Authorization: Bearer " + newKey(t, s.keys.CreateReadOnly)
	s.expect(t, postPet(newRex, readOnly), limited(rejected(403, "forbidden"), 2, 20))
	s.expect(t, get("/v1/pets", readOnly), limited(ok(`[]`), 1, 20))
	s.expect(t, get("/v1/pets?limit=0", readOnly), limited(rejected(400, "invalid_parameter"), 0, 20))
	for _, r := range []request{postPet(newRex, readOnly), postPet(newRex, readOnly, "Content-Type: text/plain"), get("/v1/pets?limit=0", readOnly)} {
		s.expect(t, r, rateLimited(20))
	}
	s.expect(t, get("/v1/pets/none", readOnly), rateLimited(20).withHeader(deprecationHeaders("none")...))
	s.expect(t, postPet(newRex, "Content-Type: text/plain"), limited(rejected(415, "unsupported_media_type"), 2, 20))
	s.clock.set(sunset)
	for range 3 {
		s.expect(t, newRequest("HEAD", "/v1/pets/1"), wantResponse{status: 410})
	}
	series := s.scrape(t)
	maps.DeleteFunc(series, func(name, _ string) bool { return !strings.Contains(name, "key_id") })
	want := map[string]string{
		`petstore_http_deprecated_requests_total{key_id="1"}`:   "3", // also after the removal
		`petstore_http_deprecated_requests_total{key_id="2"}`:   "1", // also above the rate limit
		`petstore_http_rate_limited_requests_total{key_id="2"}`: "4",
	}
	if diff := cmp.Diff(want, series); diff != "" {
		t.Errorf("series of keys (-want +got):\n%s", diff)
	}
}

func TestUnknownPathIsNotFoundWithoutRedirect(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "")...)
	for _, path := range []string{
		"/", "/v1", "/v1/", "/pets", "/v2/pets", "/metrics", "/debug/pprof/",
		"/v1/pets/", "/v1/pets/1/", "/v1/store/orders/", "/livez/", "/readyz/",
		"/V1/pets", "/v1/Pets", "/v1/PETS/1", "/v1/store/Orders", "/Livez",
		"//v1/pets", "/v1//pets", "/v1/pets//1", "/v1/./pets", "/v1/x/../pets", "/v1/store", "/v1/pets/1/2", "/v1/pets/1%2F2",
		"/v1%2Fpets", "/v1/pets%2f1", "/v1/store%2Forders", "/v1/store/orders/1%2Fcancel",
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS"} {
			s.expect(t, newRequest(method, path), rejected(404, "not_found").withHeader("-Location", "-Allow", "-Deprecation"))
		}
	}
	s.expect(t, get("/v1/%70ets/%31"), wantResponse{status: 200}) // other characters may be encoded
}

// A host's engine that removes extra slashes, and "..", from the path that it matches.
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

func TestHeadReturnsHeadersOfGetWithoutBody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(101, "sold")...)
	for _, path := range []string{
		"/v1/pets?limit=1", "/v1/pets?limit=100", "/v1/pets?after=101", "/v1/pets?limit=0", "/v1/pets/1", "/v1/pets/102",
		"/v1/store/orders", "/livez", "/readyz", "/nowhere",
	} {
		full := s.expect(t, get(path), wantResponse{})
		head := s.expect(t, newRequest(http.MethodHead, path), wantResponse{status: full.StatusCode})
		for _, header := range []http.Header{full.Header, head.Header} {
			maps.DeleteFunc(header, func(name string, _ []string) bool { return name == "Date" || name == "X-Request-Id" })
		}
		if diff := cmp.Diff(full.Header, head.Header); diff != "" {
			t.Errorf("%s: header (-GET +HEAD):\n%s", path, diff)
		}
		if size := int64(len(full.body)); head.ContentLength != size || full.ContentLength != size {
			t.Errorf("%s: got Content-Length %d from HEAD and %d from GET, want %d", path, head.ContentLength, full.ContentLength, size)
		}
	}
}

// sunset is the published time from which getPet is removed.
var sunset = time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)

// deprecationHeaders are the headers of getPet for an id in the path.
func deprecationHeaders(id any) []string {
	return []string{
		"Deprecation: @1764892800",
		"Sunset: Thu, 05 Dec 2030 00:00:00 GMT",
		fmt.Sprintf(`Link: <../pets?id=%v>; rel="successor-version"`, id),
	}
}

// notDeprecated are the headers that other methods of the path do not have.
var notDeprecated = []string{"-Deprecation", "-Sunset", "-Link"}

func TestDeprecatedRouteIsGoneFromSunsetOn(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "")...)
	expect := func(r request, want wantResponse) {
		t.Helper()
		s.expect(t, r, want.withHeader(deprecationHeaders(strings.TrimPrefix(r.path, "/v1/pets/"))...))
	}
	found, gone := ok(createdRex), rejected(410, "operation_removed", "2030-12-05", "list the pets with the parameter id")
	for now, want := range map[time.Time][]wantResponse{
		sunset.Add(-time.Millisecond): {found, rejected(404, "pet_not_found")},
		sunset:                        {gone, gone},
		sunset.AddDate(100, 0, 0):     {gone, gone},
	} {
		s.clock.set(now)
		expect(get("/v1/pets/1"), want[0])
		for _, unknown := range []string{"/v1/pets/2", "/v1/pets/none"} {
			expect(get(unknown), want[1])
			expect(get(unknown, "-Authorization"), rejected(401, "missing_api_key"))
			s.expect(t, newRequest("OPTIONS", unknown), wantResponse{status: 204}.withHeader(notDeprecated...))
			for _, method := range []string{"POST", "PUT", "TRACE", "BREW"} {
				s.expect(t, newRequest(method, unknown), rejected(405, "method_not_allowed").withHeader(notDeprecated...))
			}
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[`+createdRex+`]`))
	s.clock.set(noon)
	s.removeTable(t, "pets")
	expect(get("/v1/pets/1"), rejected(500, "internal_error"))
}

// With UseRawPath, Gin matches an encoded slash as part of the id, or of the prefix.
func TestMountedAPIIsServedUnderItsPrefix(t *testing.T) {
	t.Parallel()
	header := append(slices.Clip(notDeprecated), "Allow: GET, HEAD, PATCH, DELETE, OPTIONS")
	s := newUnstartedServer(t)
	s.createPets(t, newPets(3, "")...)
	for prefix, path := range map[string]string{
		"": "", "/shop/v1": "/shop/v1", "/a/b/c/d": "/a/b/c/d", "/pets": "/pets", "/teams/:team": "/teams/a",
		"/:petId/:orderId": "/3/2", "/shop-:shop/v1": "/shop-a/v1",
		"/café": "/caf%C3%A9", "/raw/:team": "/raw/a%2Fb",
	} {
		s.prefix = prefix
		engine, api, ids := gin.New(), s.api(t), []string{"1", "none", "a%20b"}
		engine.HandleMethodNotAllowed = true
		engine.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
		engine.NoRoute(rest.NotFound)
		engine.NoMethod(rest.MethodNotAllowed)
		s.startHost(t, engine, api)
		s.log.TakeAll()
		s.expectOnly(t, get("/hello"), ok("hello").withHeader("-X-Request-Id", "-Cache-Control", "-X-Content-Type-Options"))
		if s.log.Len() != 0 {
			t.Errorf("got log %v of a request to the host, want none", s.log.All())
		}
		s.expectOnly(t, get(path+"/nothing"), rejected(404, "not_found"))
		if prefix == "/raw/:team" {
			engine.UseRawPath = true
			ids = []string{"1", "a%2Fb"}
		}
		next := s.expect(t, get(path+"/pets?limit=2"), ok("")).link(t, "next")
		successor := s.expect(t, get(path+"/pets/1"), ok(createdRex)).link(t, "successor-version")
		if next != path+"/pets?limit=2&after=2" || successor != path+"/pets?id=1" {
			t.Errorf("got the next page %q and the successor %q, want those under %s", next, successor, path)
		}
		res := s.expect(t, request{method: "POST", path: path + "/pets", body: newRex}, created(""))
		location, err := res.Location()
		check(t, err)
		s.expect(t, get(location.EscapedPath()), ok(string(res.body)))
		for _, id := range ids {
			for _, method := range []string{http.MethodPut, http.MethodPost, "BREW"} {
				s.expectOnly(t, newRequest(method, path+"/pets/"+id), rejected(405, "method_not_allowed").withHeader(header...))
			}
		}
		for _, other := range []string{"/pets", "/store/orders/1"} {
			s.expectOnly(t, newRequest("DELETE", path+other), rejected(405, "method_not_allowed").withHeader("-Deprecation", "-Sunset", "-Link"))
		}
	}
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
