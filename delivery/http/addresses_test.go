package http_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addresses are all addresses of the service with the methods that each offers.
func addresses(t *testing.T) map[string]string {
	t.Helper()
	methods := map[string][]string{"/livez": {"GET", "HEAD"}, "/readyz": {"GET", "HEAD"}}
	for _, o := range operations(t) {
		if methods[o.path] = append(methods[o.path], o.method); o.method == http.MethodGet {
			methods[o.path] = append(methods[o.path], http.MethodHead)
		}
	}
	allow := map[string]string{}
	for path, offered := range methods {
		slices.Sort(offered) // GET, HEAD, POST
		allow[path] = strings.Join(append(offered, http.MethodOptions), ", ")
	}
	return allow
}

func TestAddressesAreThePublishedOnes(t *testing.T) {
	t.Parallel()
	got := addresses(t)
	for path, allow := range map[string]string{
		"/v1/pets":   "GET, HEAD, POST, OPTIONS",
		"/v1/pets/1": "GET, HEAD, OPTIONS",
		"/livez":     "GET, HEAD, OPTIONS",
		"/readyz":    "GET, HEAD, OPTIONS",
	} {
		if got[path] != allow {
			t.Errorf("%s offers %q, want %q", path, got[path], allow)
		}
	}
	if !strings.HasPrefix(got["/v1/store/orders"], "GET, HEAD") {
		t.Errorf("/v1/store/orders offers %q", got["/v1/store/orders"])
	}
}

func TestOptionsTellsTheMethodsOfAnAddressToAnybody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for path, allow := range addresses(t) {
		for _, header := range []string{"X-With: key", "-Authorization"} {
			s.expect(t, send(http.MethodOptions, path, header), want{status: http.StatusNoContent}.with("Allow: "+allow))
		}
	}
}

func TestMethodThatAnAddressDoesNotOfferIsRefused(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for path, allow := range addresses(t) {
		for method, named := range map[string]string{
			"GET": "GET", "POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE", "TRACE": "TRACE",
			"BREW": "method other,", "get": "method other,", strings.Repeat("A", 30_000): "method other,",
		} {
			if !slices.Contains(strings.Split(allow, ", "), method) {
				s.expect(t, send(method, path), refused(405, "method_not_allowed", named).with("Allow: "+allow).without("AAAA"))
			}
		}
	}
}

func TestOtherAddressesAreNotFoundAndNothingRedirects(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, pets(1, "")...)
	for _, path := range []string{
		"/", "/v1", "/v1/", "/pets", "/v2/pets", "/metrics", "/debug/pprof/",
		"/v1/pets/", "/v1/pets/1/", "/v1/store/orders/", "/livez/", "/readyz/",
		"/V1/pets", "/v1/Pets", "/v1/PETS/1", "/v1/store/Orders", "/Livez",
		"//v1/pets", "/v1//pets", "/v1/pets//1", "/v1/./pets", "/v1/x/../pets", "/v1/store", "/v1/pets/1/2", "/v1/pets/1%2F2",
		"/v1%2Fpets", "/v1/pets%2f1", "/v1/store%2Forders", "/v1/store/orders/1%2Fcancel",
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS"} {
			s.expect(t, send(method, path), refused(404, "not_found").with("-Location", "-Allow", "-Deprecation"))
		}
	}
	s.expect(t, get("/v1/%70ets/%31"), want{status: 200}) // any other octet may be written so
}

func TestNoOtherOriginIsLetIn(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	preflight := []string{"Origin: https://elsewhere.example", "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: authorization"}
	for path := range addresses(t) {
		for _, method := range []string{http.MethodGet, http.MethodOptions} {
			s.expect(t, send(method, path, preflight...), want{}.with("-Access-Control-Allow-Origin", "-Access-Control-Allow-Headers", "-Vary"))
		}
	}
}

func TestHealthNeedsNoKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.run(t, []testCase{
		{"livez", get("/livez", "-Authorization"), ok(`{"status":"alive"}`)},
		{"readyz", get("/readyz", "-Authorization"), ok(`{"status":"ready"}`)},
		{"livez by HEAD", send("HEAD", "/livez", "-Authorization"), ok("")},
		{"readyz by HEAD", send("HEAD", "/readyz", "-Authorization"), ok("")},
	})
}

func TestHeadAnswersAsGetDoesWithoutBody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.stock(t, pets(101, "sold")...)
	for _, path := range []string{
		"/v1/pets?limit=1", "/v1/pets?limit=100", "/v1/pets?after=101", "/v1/pets?limit=0", "/v1/pets/1", "/v1/pets/102",
		"/v1/store/orders", "/livez", "/readyz", "/nowhere",
	} {
		for _, header := range []string{"X-With: key", "-Authorization"} {
			full := s.expect(t, get(path, header), want{})
			head := s.expect(t, send(http.MethodHead, path, header), want{status: full.StatusCode})
			for _, a := range []answer{full, head} {
				a.Header.Del("Date")
				a.Header.Del("X-Request-Id")
			}
			if diff := cmp.Diff(full.Header, head.Header); diff != "" {
				t.Errorf("%s: header (-GET +HEAD):\n%s", path, diff)
			}
			if head.ContentLength != full.ContentLength {
				t.Errorf("%s: HEAD tells the length %d, GET %d", path, head.ContentLength, full.ContentLength)
			}
		}
	}
}
