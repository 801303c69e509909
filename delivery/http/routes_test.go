package http_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allowHeaders returns the header Allow of each path of the service.
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

func TestOptionsListsMethodsWithoutAuthentication(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for path, allow := range allowHeaders(t) {
		for _, header := range []string{"X-Auth: valid", "-Authorization"} {
			s.expect(t, newRequest(http.MethodOptions, path, header), wantResponse{status: http.StatusNoContent}.withHeader("Allow: "+allow))
		}
	}
}

func TestUnsupportedMethodIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for path, allow := range allowHeaders(t) {
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
