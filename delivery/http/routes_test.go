package http_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
)

// allow has the header Allow of each path.
var allow = map[string]string{
	"/livez":                     "GET, HEAD, OPTIONS",
	"/readyz":                    "GET, HEAD, OPTIONS",
	"/v1/changes":                "GET, HEAD, OPTIONS",
	"/v1/pets":                   "GET, HEAD, POST, OPTIONS",
	"/v1/pets/1":                 "GET, HEAD, OPTIONS",
	"/v1/store/orders":           "GET, HEAD, POST, OPTIONS",
	"/v1/store/orders/1":         "GET, HEAD, OPTIONS",
	"/v1/store/orders/1/cancel":  "POST, OPTIONS",
	"/v1/store/orders/1/deliver": "POST, OPTIONS",
}

func TestRegisteredRoutesMatchDocument(t *testing.T) {
	t.Parallel()
	registered, documented := 0, documentedOperations()
	for _, route := range newUnstartedServer(t).engine(t).Routes() {
		path := regexp.MustCompile(`:\w+`).ReplaceAllString(route.Path, "1")
		isDocumented := func(r request) bool { return r.method == route.Method && r.path == path }
		if slices.ContainsFunc(documented, isDocumented) {
			registered++
		} else if path[1] == 'v' && route.Method != http.MethodHead && route.Method != http.MethodOptions || !strings.Contains(allow[path], route.Method) {
			t.Errorf("%s %s is not documented, or not in allow", route.Method, path)
		}
	}
	if registered != len(documented) {
		t.Errorf("got %d documented routes, want %v", registered, documented)
	}
}

// CORS and the rate limit are off by default.
func TestMethodsOfEachPath(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	off := []string{originNotAllowed, "-Access-Control-Allow-Methods", "-Access-Control-Allow-Headers", "-Vary", "-RateLimit", "-RateLimit-Policy"}
	for path, allow := range allow {
		s.expect(t, get(path, allowedOrigin), wantResponse{}.withHeader(off...))
		for _, header := range []string{"X-Auth: valid", "-Authorization"} {
			options := newRequest(http.MethodOptions, path, header, allowedOrigin, requestMethodPost, requestHeaders)
			s.expect(t, options, wantResponse{status: http.StatusNoContent}.withHeader(off...).withHeader("Allow: "+allow))
		}
		for method, inMessage := range map[string]string{
			"GET": "GET", "POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE", "TRACE": "TRACE",
			"BREW": "method other,", "get": "method other,", strings.Repeat("A", 30_000): "method other,",
		} {
			if !slices.Contains(strings.Split(allow, ", "), method) {
				s.expect(t, newRequest(method, path), rejected(405, "method_not_allowed", inMessage).withHeader("Allow: "+allow).withoutText("AAAA"))
			}
		}
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

func TestInvalidOrUnknownIDIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(10, "")...)
	for _, id := range []string{ // FuzzQuery has more numbers
		"0", "-1", "11", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "%2B1", "1.0", "one", "1%20", "1%00", "1;x", "1,2", "١", "*",
		"1%27%20OR%201=1",
	} {
		s.expect(t, get("/v1/pets/"+id), rejected(404, "pet_not_found"))
		for _, order := range []request{get(""), newRequest("POST", "/deliver"), newRequest("POST", "/cancel")} {
			s.expect(t, newRequest(order.method, "/v1/store/orders/"+id+order.path), rejected(404, "order_not_found"))
		}
	}
	for id, want := range map[string]int{"1": 1, "%31": 1, "10": 10, "010": 10} {
		s.expect(t, get("/v1/pets/"+id), ok(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, want)))
	}
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

var deprecationHeaders = []string{
	"Deprecation: @1764892800",
	"Sunset: Thu, 05 Dec 2030 00:00:00 GMT",
	`Link: <../pets>; rel="successor-version"`,
}

func TestDeprecatedRouteIsGoneFromSunsetOn(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "")...)
	expect := func(r request, want wantResponse) {
		t.Helper()
		s.expect(t, r, want.withHeader(deprecationHeaders...))
	}
	found, gone := ok(createdRex), rejected(410, "operation_removed", "2030-12-05")
	for now, want := range map[time.Time][]wantResponse{
		sunset.Add(-time.Millisecond): {found, rejected(404, "pet_not_found")},
		sunset:                        {gone, gone},
		sunset.AddDate(100, 0, 0):     {gone, gone},
	} {
		s.clock.set(now)
		expect(get("/v1/pets/1"), want[0])
		for _, unknown := range []string{"/v1/pets/2", "/v1/pets/none"} {
			expect(get(unknown), want[1])
			expect(newRequest("OPTIONS", unknown), wantResponse{status: 204})
			expect(get(unknown, "-Authorization"), rejected(401, "missing_api_key"))
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} {
				expect(newRequest(method, unknown), rejected(405, "method_not_allowed"))
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
	header := append(slices.Clip(deprecationHeaders), "Allow: GET, HEAD, OPTIONS")
	s := newUnstartedServer(t)
	s.createPets(t, newPets(3, "")...)
	for prefix, path := range map[string]string{
		"": "", "/shop/v1": "/shop/v1", "/a/b/c/d": "/a/b/c/d", "/pets": "/pets", "/teams/:team": "/teams/a", "/shop-:shop/v1": "/shop-a/v1",
		"/café": "/caf%C3%A9", "/raw/:team": "/raw/a%2Fb",
	} {
		s.prefix = prefix
		engine, api, ids := gin.New(), s.api(t), []string{"1", "none", "a%20b"}
		engine.HandleMethodNotAllowed = true
		engine.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
		engine.NoRoute(rest.NotFound)
		engine.NoMethod(api.MarkDeprecated, rest.MethodNotAllowed)
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
		if next != path+"/pets?limit=2&after=2" || successor != path+"/pets" {
			t.Errorf("got the next page %q and the successor %q, want those under %s", next, successor, path)
		}
		res := s.expect(t, request{method: "POST", path: path + "/pets", body: newRex}, created(""))
		location, err := res.Location()
		check(t, err)
		s.expect(t, get(location.EscapedPath()), ok(string(res.body)))
		for _, id := range ids {
			for _, method := range []string{http.MethodDelete, http.MethodPost, "BREW"} {
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
	s.expectOnly(t, get("/v1/pets/1", allowedOrigin), want.withHeader(deprecationHeaders...))
	s.expectOnly(t, get("/v1/pets", "From: ann"), ok(`[]`))
	lines := s.accessLog(t)
	if last := lines[len(lines)-1]; len(lines) != 5 || last["caller"] != "ann" {
		t.Errorf("got access log %v, want 5 lines and caller ann in the last", lines)
	}
}

func TestStartupHandlerIsUnavailableUntilReady(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	o := rest.Options{Logger: s.logger}
	allowOrigin(&o)
	startup, err := server.NewStartupHandler([]string{"127.0.0.0/8"}, o)
	check(t, err)
	s.start(t, startup)
	s.expectOnly(t, get("/v1/pets", "X-Forwarded-For: 203.0.113.9"), rejected(503, "unavailable"))
	if line := s.accessLog(t)[0]; line["client"] != "203.0.113.9" {
		t.Errorf("got line %v, want the client behind a trusted proxy", line)
	}
	unavailable := rejected(503, "unavailable").withHeader("Retry-After: 1")
	s.expectOnly(t, get("/livez", "-Authorization"), ok(`{"status":"alive"}`))
	for _, r := range []request{get("/readyz"), get("/v1/pets"), get("/v1/pets", "-Authorization"), postPet(`{"name":"Rex"}`), get("/nowhere")} {
		r.header = append(r.header, allowedOrigin)
		s.expectOnly(t, r, unavailable.withHeader(originAllowed, "Vary: Origin"))
	}
	s.expectOnly(t, newRequest(http.MethodDelete, "/livez"), unavailable)
	s.expectOnly(t, get("/v1/pets/1", otherOrigin), unavailable.withHeader(deprecationHeaders...).withHeader(originNotAllowed))
	// A browser sends the request only if the preflight has a 2xx status (Fetch, section 4.8).
	s.expectOnly(t, newRequest(http.MethodOptions, "/v1/pets", "-Authorization", allowedOrigin, requestMethodPost, requestHeaders), preflightAllowed)
	startup.SetHandler(s.engine(t))
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.expect(t, get("/v1/pets"), ok(`[]`))

	s.health.Drain()
	s.expect(t, get("/readyz"), unavailable)
	s.expect(t, newRequest("HEAD", "/readyz"), wantResponse{status: 503})
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
	if failures := s.log.FilterMessage("the store is not available").Len(); failures != 0 {
		t.Errorf("got %d failures in the log, want none", failures)
	}
	_, err = server.NewStartupHandler([]string{"proxy.example"}, o)
	if _, engineErr := server.NewEngine(s.api(t), s.health, []string{"proxy.example"}); err == nil || engineErr == nil {
		t.Errorf("got the errors %v and %v, want some for a proxy that is neither an address nor a network", err, engineErr)
	}
}
