package http_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// scrape returns the value of each series of a registry, in the text format.
func scrape(t *testing.T, registry *prometheus.Registry) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	series := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "#" {
			series[name] = value
		}
	}
	return series
}

// requestCounts returns the number of requests by "METHOD route status".
func requestCounts(t *testing.T, registry *prometheus.Registry) map[string]string {
	t.Helper()
	pattern := regexp.MustCompile(`^petstore_http_request_duration_seconds_count\{method="(\w+)",route="(.+)",status="(\d+)"\}$`)
	counts := map[string]string{}
	for name, value := range scrape(t, registry) {
		if labels := pattern.FindStringSubmatch(name); labels != nil {
			counts[strings.Join(labels[1:], " ")] = value
		}
	}
	return counts
}

func TestMetricsCountRequestsByRouteMethodAndStatus(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newTestServer(t, withMetrics(registry))
	for _, r := range []request{
		get("/v1/pets"), get("/v1/pets?limit=1"), get("/v1/pets?limit=0"), get("/v1/pets", "-Authorization"), newRequest("HEAD", "/v1/pets"),
		postPet(newRex), postPet(newRex), postPet(`{`), get("/v1/pets/1"), get("/v1/pets/2"), get("/v1/pets/42"), get("/v1/pets/none"),
		newRequest("OPTIONS", "/v1/pets/1"), get("/livez"), get("/nowhere"), get("/v1/nowhere"), get("/v1/pets%2F1"), newRequest("DELETE", "/v1/pets"),
		newRequest("BREW", "/v1/pets"), newRequest("BREW", "/tea"), newRequest("get", "/v1/pets"),
	} {
		s.expect(t, r, wantResponse{})
	}
	want := map[string]string{
		"GET /v1/pets 200": "2", "GET /v1/pets 400": "1", "GET /v1/pets 401": "1", "HEAD /v1/pets 200": "1",
		"POST /v1/pets 201": "2", "POST /v1/pets 400": "1", "GET /v1/pets/:petId 200": "2", "GET /v1/pets/:petId 404": "2",
		"OPTIONS /v1/pets/:petId 204": "1", "GET /livez 200": "1", "GET unmatched 404": "3", "DELETE unmatched 405": "1",
		"other unmatched 405": "2", "other unmatched 404": "1",
	}
	if diff := cmp.Diff(want, requestCounts(t, registry)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestMetricsCountDeprecatedRequestsByKey(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newTestServer(t, withMetrics(registry), withRateLimit(3, time.Minute))
	second := "Authorization: Bearer " + s.createKey(t)
	s.expectDocumented(t, get("/v1/pets/1"), rejected(404, "pet_not_found"))
	s.clock.set(sunset)
	for _, want := range []int{410, 410, 410, 429} {
		s.expectDocumented(t, newRequest("HEAD", "/v1/pets/1", second), wantResponse{status: want})
	}
	for _, other := range []request{get("/v1/pets/1", "-Authorization"), newRequest("OPTIONS", "/v1/pets/1"), get("/v1/pets"), get("/v1/store/orders/1")} {
		s.expectDocumented(t, other, wantResponse{})
	}
	got := scrape(t, registry)
	for series, want := range map[string]string{
		`petstore_http_deprecated_requests_total{key_id="1"}`:   "1",
		`petstore_http_deprecated_requests_total{key_id="2"}`:   "4",
		`petstore_http_deprecated_requests_total{key_id=""}`:    "",
		`petstore_http_rate_limited_requests_total{key_id="2"}`: "1",
	} {
		if got[series] != want {
			t.Errorf("%s: got %q, want %q", series, got[series], want)
		}
	}
}

func TestMetricsCountRequestsInFlight(t *testing.T) {
	t.Parallel()
	const series = "petstore_http_requests_in_flight"
	registry := prometheus.NewRegistry()
	during := ""
	s := newTestServer(t, withGet(func(_ context.Context, id int64) (domain.Pet, error) {
		during = scrape(t, registry)[series]
		if id == 1 {
			panic(http.ErrAbortHandler)
		}
		panic("panic value")
	}), withMetrics(registry))
	for _, path := range []string{"/v1/pets/1", "/v1/pets/2"} {
		_, _ = s.send(t.Context(), get(path))
		if after := scrape(t, registry)[series]; during != "1" || after != "0" {
			t.Errorf("%s: got %q requests in flight during the request and %q after it, want 1 and 0", path, during, after)
		}
	}
}

func TestNewRejectsRegistryOfAnotherAPI(t *testing.T) {
	t.Parallel()
	o := newUnstartedServer(t).options()
	o.Metrics = prometheus.NewRegistry()
	if _, err := rest.New(o); err != nil {
		t.Fatal(err)
	}
	_, err := rest.New(o)
	if err == nil || !strings.Contains(err.Error(), "this registry has the metrics of another API") {
		t.Errorf("got error %v, want one about the registry", err)
	}
	labelled := prometheus.NewRegistry()
	for _, name := range []string{"one", "other"} {
		o.Metrics = prometheus.WrapRegistererWith(prometheus.Labels{"shop": name}, labelled)
		if _, err := rest.New(o); err != nil {
			t.Error(err)
		}
	}
}
