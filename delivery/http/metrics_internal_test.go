package http

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
)

// Without a registry the series of each caller would only use memory.
func TestCallersAreCountedOnlyWithRegistry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		registerer prometheus.Registerer
		want       int
	}{{nil, 0}, {prometheus.NewRegistry(), 2}} {
		a := &API{metrics: newMetrics("key_id"), measured: test.registerer != nil}
		for _, caller := range []string{"ann", "bob", "ann"} {
			c, _ := gin.CreateTestContext(httptest.NewRecorder())
			c.Request = httptest.NewRequestWithContext(&requestState{caller: caller, deadline: deadline{Context: t.Context()}}, http.MethodGet, "/v1/pets/1", http.NoBody)
			a.countDeprecated(c)
		}
		series := make(chan prometheus.Metric, 10)
		a.metrics.deprecated.Collect(series)
		if len(series) != test.want {
			t.Errorf("got %d series with registry %v, want %d", len(series), test.registerer, test.want)
		}
	}
}
