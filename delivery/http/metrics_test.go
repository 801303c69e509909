package http_test

import (
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// requestCounts returns the number of requests by "METHOD route status".
func (s *testServer) requestCounts(t *testing.T) map[string]int {
	t.Helper()
	pattern := regexp.MustCompile(`^petstore_http_request_duration_seconds_count\{method="(\w+)",route="(.+)",status="(\d+)"\}$`)
	counts := map[string]int{}
	for name, value := range s.scrape(t) {
		if labels := pattern.FindStringSubmatch(name); labels != nil {
			counts[strings.Join(labels[1:], " ")], _ = strconv.Atoi(value)
		}
	}
	return counts
}

// scrape returns the value of each series of the metrics, by its name and labels in the text format.
func (s *testServer) scrape(t *testing.T) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	series := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "#" {
			series[name] = value
		}
	}
	return series
}
