package http

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
)

// WithMetrics registers the metrics of the API. New fails where those of another one
// are registered: APIs that share a registry tell themselves apart by a label
// (prometheus.WrapRegistererWith). By default no request is measured.
//
// They are petstore_http_request_duration_seconds by route, method and status, which
// is 499 for a client that disconnected before its response,
// petstore_http_requests_in_flight, and by the id of the key
// petstore_http_deprecated_requests_total and petstore_http_rate_limited_requests_total,
// and petstore_http_page_cache_requests_total by result, hit or miss.
func WithMetrics(registerer prometheus.Registerer) Option {
	return func(a *API) { a.registerer = registerer }
}

// metrics are what the API measures, one prometheus.Collector in all.
type metrics struct {
	duration    *prometheus.HistogramVec
	inFlight    prometheus.Gauge
	deprecated  *prometheus.CounterVec
	rateLimited *prometheus.CounterVec
	pages       *prometheus.CounterVec
	hits        prometheus.Counter // of pages
	misses      prometheus.Counter
}

func newMetrics() *metrics {
	perKey := []string{"key_id"}
	pages := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_http_page_cache_requests_total", Help: "Pages of lists that were asked for, by whether the page was kept.",
	}, []string{"result"})
	return &metrics{
		pages: pages, hits: pages.WithLabelValues("hit"), misses: pages.WithLabelValues("miss"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "petstore_http_request_duration_seconds", Help: "How long requests took, by route, method and status.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "petstore_http_requests_in_flight", Help: "How many requests are being answered.",
		}),
		deprecated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_http_deprecated_requests_total", Help: "Calls of deprecated operations, removed and rate-limited ones included, by the id of the key.",
		}, perKey),
		rateLimited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_http_rate_limited_requests_total", Help: "Requests refused for going beyond the rate limit, by the id of the key.",
		}, perKey),
	}
}

func (m *metrics) register(registerer prometheus.Registerer) error {
	if err := registerer.Register(m); err != nil {
		return fmt.Errorf("rest.New: this registry has the metrics of another API, give WithMetrics one of its own or a label: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(to)
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.duration, m.inFlight, m.deprecated, m.rateLimited, m.pages}
}

// measure counts an answered request by how long it took. All that match no route
// share a name: what clients make up must not become series.
func (m *metrics) measure(route, method string, status int, took time.Duration) {
	m.duration.WithLabelValues(cmp.Or(route, "unmatched"), method, strconv.Itoa(status)).Observe(took.Seconds())
}

// countDeprecated notes who still calls an operation that is to go.
func (a *API) countDeprecated(c *gin.Context) { a.count(a.metrics.deprecated, c) }

// count counts a request for its caller, where somebody reads it: each caller has a
// series, which stays.
func (a *API) count(requests *prometheus.CounterVec, c *gin.Context) {
	if a.registerer != nil {
		requests.WithLabelValues(stateOf(c).caller).Inc()
	}
}

// routeOf returns the template of the route that a request matched, empty for none.
func routeOf(c *gin.Context) string {
	if hasEncodedSlash(c) {
		return ""
	}
	return c.FullPath()
}

// knownMethods are those of RFC 9110, section 9.1, and PATCH (RFC 5789).
var knownMethods = []string{
	http.MethodGet, http.MethodPost, http.MethodHead, http.MethodOptions, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodConnect, http.MethodTrace,
}

// methodOf returns the method of a request, "other" for one that is not known: a
// client may make up any, of any length.
func methodOf(c *gin.Context) string {
	if slices.Contains(knownMethods, c.Request.Method) {
		return c.Request.Method
	}
	return "other"
}
