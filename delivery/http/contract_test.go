package http_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/docs"
)

var document = sync.OnceValues(func() (*openapi3.T, error) {
	_, text, err := docs.Document(docs.Options{}, "v1")
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

func loadDocument(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// documentedOperations returns a request for each operation of the document, with 1 for
// every path parameter.
func documentedOperations(t *testing.T) (all []request) {
	t.Helper()
	for path, item := range loadDocument(t).Paths.Map() {
		for method := range item.Operations() {
			all = append(all, newRequest(method, "/v1"+pathParameter.ReplaceAllString(path, "1")))
		}
	}
	return all
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// checkContract checks a response against the document. The response to an operation that
// is not documented must be a 404 or a 405.
func (s *testServer) checkContract(t *testing.T, res response) {
	t.Helper()
	path, inAPI := strings.CutPrefix(res.Request.URL.EscapedPath(), s.prefix)
	if !inAPI || res.Request.Method == http.MethodOptions {
		return
	}
	req := &http.Request{Method: res.Request.Method, URL: res.Request.URL, Header: res.Request.Header}
	if req.Method == http.MethodHead {
		req.Method = http.MethodGet
	}
	route := findRoute(loadDocument(t), req.Method, path)
	if route == nil {
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is not documented: got status %d, want 404 or 405", req.Method, path, res.StatusCode)
		}
		return
	}
	err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, Route: route},
		Status:                 res.StatusCode,
		Header:                 res.Header,
		Body:                   io.NopCloser(bytes.NewReader(res.body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			ExcludeResponseBody:   res.Request.Method == http.MethodHead,
		},
	})
	if err != nil {
		t.Errorf("%s %s: the response %d differs from the document: %v", req.Method, path, res.StatusCode, err)
		return
	}
	checkDocumentedHeader(t, res, route.Operation)
}

// findRoute returns the operation at an escaped path, or nil. Unlike the routers of
// kin-openapi it ignores no trailing slash.
func findRoute(doc *openapi3.T, method, path string) *routers.Route {
	for template, item := range doc.Paths.Map() {
		matches := func(pattern, segment string) bool {
			segment, err := url.PathUnescape(segment)
			return err == nil && !strings.Contains(segment, "/") &&
				(pattern == segment || segment != "" && strings.HasPrefix(pattern, "{"))
		}
		operation := item.GetOperation(method)
		if operation != nil && slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), matches) {
			return &routers.Route{Spec: doc, Path: template, PathItem: item, Method: method, Operation: operation}
		}
	}
	return nil
}

// undocumentedHeaders are common to all responses and not part of the document.
var undocumentedHeaders = []string{"Cache-Control", "Content-Length", "Content-Type", "Date", "X-Content-Type-Options", "Connection"}

// isOptional reports whether only some responses with a documented header have it.
func isOptional(operation *openapi3.Operation, header string) bool {
	return header == "Idempotency-Replayed" || header == "WWW-Authenticate" || strings.HasPrefix(header, "RateLimit") || header == "Link" && strings.HasPrefix(operation.OperationID, "list")
}

func checkDocumentedHeader(t *testing.T, res response, operation *openapi3.Operation) {
	t.Helper()
	allowed := slices.Clone(undocumentedHeaders)
	documented := operation.Responses.Status(res.StatusCode)
	if documented == nil {
		t.Errorf("%s: status %d is not documented", operation.OperationID, res.StatusCode)
		return
	}
	for name := range documented.Value.Headers {
		allowed = append(allowed, http.CanonicalHeaderKey(name))
		if len(res.Header.Values(name)) == 0 && !isOptional(operation, name) {
			t.Errorf("%s: the response %d lacks the documented header %s", operation.OperationID, res.StatusCode, name)
		}
	}
	for name := range res.Header {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s: header %s of the response %d is not documented", operation.OperationID, name, res.StatusCode)
		}
	}
}

var ginParameter = regexp.MustCompile(`:\w+`)

func TestRegisteredRoutesMatchDocument(t *testing.T) {
	t.Parallel()
	var registered, documented []string
	for _, route := range newUnstartedServer(t).engine(t, nil).Routes() {
		path, inAPI := strings.CutPrefix(route.Path, "/v1")
		if inAPI && route.Method != http.MethodHead && route.Method != http.MethodOptions {
			registered = append(registered, route.Method+" /v1"+ginParameter.ReplaceAllString(path, "1"))
		}
	}
	for _, r := range documentedOperations(t) {
		documented = append(documented, r.method+" "+r.path)
	}
	slices.Sort(registered)
	slices.Sort(documented)
	if diff := cmp.Diff(documented, registered); diff != "" {
		t.Errorf("routes (-documented +registered):\n%s", diff)
	}
}

func allowHeaders(t *testing.T) map[string]string {
	t.Helper()
	methods := map[string][]string{"/livez": {"GET", "HEAD"}, "/readyz": {"GET", "HEAD"}}
	for _, o := range documentedOperations(t) {
		if methods[o.path] = append(methods[o.path], o.method); o.method == http.MethodGet {
			methods[o.path] = append(methods[o.path], http.MethodHead)
		}
	}
	allow := map[string]string{}
	for path, supported := range methods {
		slices.Sort(supported)
		allow[path] = strings.Join(append(supported, http.MethodOptions), ", ")
	}
	return allow
}

// CORS and the rate limit are off by default.
func TestMethodsOfEachPath(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	off := []string{originNotAllowed, "-Access-Control-Allow-Methods", "-Access-Control-Allow-Headers", "-Vary", "-RateLimit", "-RateLimit-Policy"}
	for path, allow := range allowHeaders(t) {
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

func TestHeadReturnsHeadersOfGetWithoutBody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(101, "sold")...)
	for _, path := range []string{
		"/v1/pets?limit=1", "/v1/pets?limit=100", "/v1/pets?after=101", "/v1/pets?limit=0", "/v1/pets/1", "/v1/pets/102",
		"/v1/store/orders", "/livez", "/readyz", "/nowhere",
	} {
		for _, header := range []string{"X-Auth: valid", "-Authorization"} {
			full := s.expect(t, get(path, header), wantResponse{})
			head := s.expect(t, newRequest(http.MethodHead, path, header), wantResponse{status: full.StatusCode})
			for _, res := range []response{full, head} {
				res.Header.Del("Date")
				res.Header.Del("X-Request-Id")
			}
			if diff := cmp.Diff(full.Header, head.Header); diff != "" {
				t.Errorf("%s: header (-GET +HEAD):\n%s", path, diff)
			}
			if size := int64(len(full.body)); head.ContentLength != size || full.ContentLength != size {
				t.Errorf("%s: got Content-Length %d from HEAD and %d from GET, want %d", path, head.ContentLength, full.ContentLength, size)
			}
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

func TestDeprecatedRouteSendsDeprecationHeaders(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "")...)
	expectAll := func(now time.Time) {
		s.clock.set(now)
		for _, path := range []string{"/v1/pets/1", "/v1/pets/2", "/v1/pets/none"} {
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} { // from POST on 405
				for _, header := range []string{"X-Auth: valid", "-Authorization", "Authorization: Bearer wrong"} {
					s.expect(t, newRequest(method, path, header), wantResponse{}.withHeader(deprecationHeaders...))
				}
			}
		}
	}
	expectAll(noon)
	s.removeTable(t, "pets")
	expectAll(noon)
	expectAll(sunset.AddDate(1, 0, 0))
}

// With UseRawPath, Gin matches an encoded slash as part of the id.
func TestMethodNotAllowedOfMountedAPIHasDeprecationHeaders(t *testing.T) {
	t.Parallel()
	header := append(slices.Clip(deprecationHeaders), "Allow: GET, HEAD, OPTIONS")
	for prefix, path := range map[string]string{
		"": "", "/shop/v1": "/shop/v1", "/teams/:team": "/teams/a", "/shop-:shop/v1": "/shop-a/v1", "/café": "/caf%C3%A9", "/raw": "/raw",
	} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			s, ids := newMountedServer(t, prefix), []string{"1", "none", "a%20b"}
			if prefix == "/raw" {
				s.host.UseRawPath = true
				ids = []string{"1", "a%2Fb"}
			}
			for _, id := range ids {
				for _, method := range []string{http.MethodDelete, http.MethodPost, "BREW"} {
					s.expectDocumented(t, newRequest(method, path+"/pets/"+id), rejected(405, "method_not_allowed").withHeader(header...))
				}
			}
			for _, other := range []string{"/pets", "/store/orders/1"} {
				s.expectDocumented(t, newRequest("DELETE", path+other), rejected(405, "method_not_allowed").withHeader("-Deprecation", "-Sunset", "-Link"))
			}
		})
	}
}

func TestDeprecatedRouteIsGoneFromSunsetOn(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(1, "")...)
	gone := rejected(410, "operation_removed", "2030-12-05").withHeader(deprecationHeaders...)
	s.clock.set(sunset.Add(-time.Millisecond))
	s.expect(t, get("/v1/pets/1"), ok(createdRex).withHeader(deprecationHeaders...))
	for _, now := range []time.Time{sunset, sunset.AddDate(100, 0, 0)} {
		s.clock.set(now)
		for _, id := range []string{"1", "2", "none"} {
			s.expect(t, get("/v1/pets/"+id), gone)
		}
	}
	s.expect(t, get("/v1/pets/1", "-Authorization"), rejected(401, "missing_api_key"))
	s.expect(t, newRequest("DELETE", "/v1/pets/1"), rejected(405, "method_not_allowed"))
	s.expect(t, get("/v1/pets"), ok(`[`+createdRex+`]`))
}
