package http

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of the API.
type metrics struct {
	duration    *prometheus.HistogramVec
	inFlight    prometheus.Gauge
	deprecated  *prometheus.CounterVec
	rateLimited *prometheus.CounterVec
	cacheHits   prometheus.Counter
	cacheMisses prometheus.Counter
	cacheStale  prometheus.Counter
	collectors
}

// newMetrics returns the metrics. callerLabel is the name of the label for the caller.
func newMetrics(callerLabel string, streams *changeStreams) *metrics {
	perCaller := []string{callerLabel}
	pageCache := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_http_page_cache_requests_total", Help: "Lookups in the cache of lists and records, by result: hit, miss or stale.",
	}, []string{"result"})
	m := &metrics{
		cacheHits: pageCache.WithLabelValues("hit"), cacheMisses: pageCache.WithLabelValues("miss"), cacheStale: pageCache.WithLabelValues("stale"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "petstore_http_request_duration_seconds", Help: "Duration of requests, by route, method and status.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "petstore_http_requests_in_flight", Help: "Requests that are being served.",
		}),
		deprecated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_http_deprecated_requests_total",
			Help: "Requests to deprecated operations, including those rejected by the rate limit or after the removal, by caller.",
		}, perCaller),
		rateLimited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_http_rate_limited_requests_total", Help: "Requests rejected by the rate limit, by caller.",
		}, perCaller),
	}
	m.collectors = collectors{
		pageCache, m.duration, m.inFlight, m.deprecated, m.rateLimited,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "petstore_changes_streams", Help: "Open streams of changes.",
		}, func() float64 {
			open, _ := streams.slowest()
			return float64(open)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "petstore_changes_lag", Help: "Changes that the slowest open stream has not got yet.",
		}, streams.lag),
	}
	return m
}

// collectors are one prometheus.Collector, so that a registry takes all or none.
type collectors []prometheus.Collector

// Describe implements prometheus.Collector.
func (all collectors) Describe(to chan<- *prometheus.Desc) {
	for _, c := range all {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (all collectors) Collect(to chan<- prometheus.Metric) {
	for _, c := range all {
		c.Collect(to)
	}
}

// countByCaller adds a request to the counter of its caller. If the metrics are not registered, it does nothing,
// because the counters of all callers would stay in memory for no use.
func (a *API) countByCaller(counter *prometheus.CounterVec, c *gin.Context) {
	if a.measured {
		counter.WithLabelValues(stateOf(c).caller).Inc()
	}
}

// routeOf returns the route of a request as a path template, such as /v1/pets/:petId, or "" if the request has no route.
func routeOf(c *gin.Context) string {
	if hasEncodedSlash(c) {
		return ""
	}
	return c.FullPath()
}

// knownMethods are the methods of RFC 9110, section 9.1, and PATCH (RFC 5789).
var knownMethods = []string{
	http.MethodGet, http.MethodPost, http.MethodHead, http.MethodOptions, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodConnect, http.MethodTrace,
}

// methodOf returns the method of a request, or "other" for an unknown method, which may be any text of any length.
func methodOf(c *gin.Context) string {
	if slices.Contains(knownMethods, c.Request.Method) {
		return c.Request.Method
	}
	return "other"
}
