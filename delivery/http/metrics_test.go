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
	"example.com/petstore/usecase"
)

// scrape is what a registry tells Prometheus, line by line without the comments.
func scrape(t *testing.T, registry *prometheus.Registry) map[string]string {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	series := map[string]string{}
	for line := range strings.Lines(answer.Body.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "#" {
			series[name] = value
		}
	}
	return series
}

// counts are the requests that a registry tells, by route, method and status.
func counts(t *testing.T, registry *prometheus.Registry) map[string]string {
	t.Helper()
	form := regexp.MustCompile(`^petstore_http_request_duration_seconds_count\{method="(\w+)",route="(.+)",status="(\d+)"\}$`)
	found := map[string]string{}
	for name, value := range scrape(t, registry) {
		if labels := form.FindStringSubmatch(name); labels != nil {
			found[strings.Join(labels[1:], " ")] = value
		}
	}
	return found
}

func TestMetricsCountRequestsByRouteMethodAndStatus(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newTestServer(t, rest.WithMetrics(registry))
	for _, r := range []request{
		get("/v1/pets"), get("/v1/pets?limit=1"), get("/v1/pets?limit=0"), get("/v1/pets", "-Authorization"), send("HEAD", "/v1/pets"),
		post(newRex), post(newRex), post(`{`), get("/v1/pets/1"), get("/v1/pets/2"), get("/v1/pets/42"), get("/v1/pets/none"),
		send("OPTIONS", "/v1/pets/1"), get("/livez"), get("/nowhere"), get("/v1/elsewhere"), get("/v1/pets%2F1"), send("DELETE", "/v1/pets"),
		send("BREW", "/v1/pets"), send("BREW", "/tea"), send("get", "/v1/pets"),
	} {
		s.expect(t, r, want{})
	}
	want := map[string]string{
		"GET /v1/pets 200": "2", "GET /v1/pets 400": "1", "GET /v1/pets 401": "1", "HEAD /v1/pets 200": "1",
		"POST /v1/pets 201": "2", "POST /v1/pets 400": "1", "GET /v1/pets/:petId 200": "2", "GET /v1/pets/:petId 404": "2",
		"OPTIONS /v1/pets/:petId 204": "1", "GET /livez 200": "1", "GET unmatched 404": "3", "DELETE unmatched 405": "1",
		"other unmatched 405": "2", "other unmatched 404": "1",
	}
	if diff := cmp.Diff(want, counts(t, registry)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestMetricsTellWhoCallsADeprecatedOperation(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newTestServer(t, rest.WithMetrics(registry))
	second := "Authorization: Bearer " + s.issueKey(t)
	s.expect(t, get("/v1/pets/1"), want{status: 404})
	s.expect(t, send("HEAD", "/v1/pets/1", second), want{status: 404})
	s.clock.set(sunset)
	s.expect(t, get("/v1/pets/1", second), want{status: 410})
	for _, other := range []request{get("/v1/pets/1", "-Authorization"), send("OPTIONS", "/v1/pets/1"), get("/v1/pets"), get("/v1/store/orders/1")} {
		s.expect(t, other, want{})
	}
	got := scrape(t, registry)
	for series, want := range map[string]string{
		`petstore_http_deprecated_requests_total{key_id="1"}`: "1",
		`petstore_http_deprecated_requests_total{key_id="2"}`: "2",
		`petstore_http_deprecated_requests_total{key_id=""}`:  "",
	} {
		if got[series] != want {
			t.Errorf("%s is %q, want %q", series, got[series], want)
		}
	}
}

func TestMetricsCountDeprecatedCallsThatTheLimitRefuses(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newTestServer(t, rest.WithMetrics(registry), rest.WithRateLimit(1, time.Minute))
	s.ask(t, get("/v1/pets"), ok(`[]`))
	for _, want := range []string{"1", "2"} {
		s.ask(t, get("/v1/pets/1"), refused(429, "rate_limited"))
		for _, counter := range []string{"deprecated", "rate_limited"} {
			series := `petstore_http_` + counter + `_requests_total{key_id="1"}`
			if got := scrape(t, registry)[series]; got != want {
				t.Errorf("%s is %q, want %q", series, got, want)
			}
		}
	}
}

func TestMetricsTellHowManyRequestsAreInFlight(t *testing.T) {
	t.Parallel()
	const series = "petstore_http_requests_in_flight"
	registry := prometheus.NewRegistry()
	during := ""
	s := openShopWhere(t, func(_ context.Context, id int64) (domain.Pet, error) {
		during = scrape(t, registry)[series]
		if id == 1 {
			panic(http.ErrAbortHandler)
		}
		panic("the dog ate it")
	}, rest.WithMetrics(registry))
	for _, path := range []string{"/v1/pets/1", "/v1/pets/2"} {
		_, _ = s.send(t.Context(), get(path))
		if after := scrape(t, registry)[series]; during != "1" || after != "0" {
			t.Errorf("%s: %q were in flight during the request and %q after it, want 1 and 0", path, during, after)
		}
	}
}

func TestMetricsTellNoSecret(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newTestServer(t, rest.WithMetrics(registry), rest.WithRateLimit(2, noon.Sub(noon.Add(-1e9))))
	for range 3 {
		for _, r := range secretive(s.key) {
			_, _ = s.send(t.Context(), r)
		}
	}
	for name := range scrape(t, registry) {
		if strings.Contains(name, s.key[9:]) || strings.Contains(name, "hush") {
			t.Errorf("the metrics tell a secret: %s", name)
		}
	}
}

// secretive are requests with secrets everywhere: the API key and the word hush.
func secretive(key string) []request {
	header := []string{"User-Agent: " + key, "Referer: " + key, "Cookie: hush", "Idempotency-Key: hush", "X-Secret: hush"}
	all := []request{
		get("/v1/pets?access_token=" + key), get("/v1/pets/" + key), get("/v1/" + key), post(`{"name":"hush","categoryId":7}`),
		post(`{"name":"hush"}`), send("DELETE", "/v1/pets?x="+key), send("POST", "/v1/store/orders/"+key+"/deliver"),
	}
	for i := range all {
		all[i].header = header
	}
	return all
}

func TestRegistryTakesTheMetricsOfOneAPI(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	services := rest.Services{
		Pets: usecase.NewPets(s.store, s.store.Pets(), s.clock.now), Orders: usecase.NewOrders(s.store, s.store.Orders(), s.clock.now), Keys: s.keys,
	}
	registry := prometheus.NewRegistry()
	if _, err := rest.New(services, rest.WithMetrics(registry)); err != nil {
		t.Fatal(err)
	}
	_, err := rest.New(services, rest.WithMetrics(registry))
	if err == nil || !strings.Contains(err.Error(), "this registry has the metrics of another API") {
		t.Errorf("got the error %v", err)
	}
	shared := prometheus.NewRegistry()
	for _, name := range []string{"one", "other"} {
		if _, err := rest.New(services, rest.WithMetrics(prometheus.WrapRegistererWith(prometheus.Labels{"shop": name}, shared))); err != nil {
			t.Error(err)
		}
	}
}
