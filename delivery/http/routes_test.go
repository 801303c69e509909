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
)

// allow has the value of the header Allow for each path.
var allow = map[string]string{
	"/livez":                     "GET, HEAD, OPTIONS",
	"/readyz":                    "GET, HEAD, OPTIONS",
	"/v1/categories":             "GET, HEAD, OPTIONS",
	"/v1/categories/1":           "DELETE, PUT, OPTIONS",
	"/v1/changes":                "GET, HEAD, OPTIONS",
	"/v1/pets":                   "GET, HEAD, POST, OPTIONS",
	"/v1/pets/1":                 "GET, HEAD, PATCH, DELETE, OPTIONS",
	"/v1/pets/batch":             "POST, OPTIONS",
	"/v1/store/inventory":        "GET, HEAD, OPTIONS",
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
			continue
		}
		documentedOtherwise := path[1] != 'v' || route.Method == http.MethodHead || route.Method == http.MethodOptions
		if path != "/v1/pets/batch" && (!documentedOtherwise || !strings.Contains(allow[path], route.Method)) { // /v1/pets/batch has routes for 405
			t.Errorf("%s %s is not documented, or not in allow", route.Method, path)
		}
	}
	if registered != len(documented) {
		t.Errorf("got %d documented routes, want %v", registered, documented)
	}
}

// CORS and the rate limit are off by default.
func TestMethodWithoutARouteIsNotAllowed(t *testing.T) {
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
			// For a method without a route, Gin takes batch for an id, and sends the methods of an animal in Allow.
			takenForAnID := path == "/v1/pets/batch" && strings.HasPrefix(inMessage, "method")
			if !slices.Contains(strings.Split(allow, ", "), method) && !takenForAnID {
				want := rejected(405, "method_not_allowed", inMessage, allow).withHeader("Allow: " + allow).withoutText("AAAA")
				s.expect(t, newRequest(method, path), want)
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

// sunset is the published time at which getPet is removed.
var sunset = time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)

// deprecationHeaders returns the header fields of getPet for an id in the path.
func deprecationHeaders(id any) []string {
	return []string{
		"Deprecation: @1764892800",
		"Sunset: Thu, 05 Dec 2030 00:00:00 GMT",
		fmt.Sprintf(`Link: <../pets?id=%v>; rel="successor-version"`, id),
	}
}

// notDeprecated are the header fields that other methods of the path do not have.
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
	expect(get("/v1/pets/2"), rejected(500, "internal_error"))
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
