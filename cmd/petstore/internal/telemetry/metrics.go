package telemetry

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"example.com/petstore/delivery/http/server"
)

// NewRegistry returns a registry with the metrics of the Go runtime, the process and the
// build.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return registry
}

// RegisterLogMetrics registers and returns the counter of dropped log lines.
func RegisterLogMetrics(registry *prometheus.Registry) prometheus.Counter {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "petstore_log_dropped_lines_total", Help: "Log lines dropped because standard error could not be written in time.",
	})
	registry.MustRegister(dropped)
	return dropped
}

// RegisterReadyMetric registers whether the service is ready, which it is not before the
// caller stores its health.
func RegisterReadyMetric(registry *prometheus.Registry) *atomic.Pointer[server.Health] {
	var health atomic.Pointer[server.Health]
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_ready", Help: "1 if /readyz returns 200, else 0.",
	}, func() float64 {
		if h := health.Load(); h == nil || h.Check(context.Background()) != nil {
			return 0
		}
		return 1
	}))
	return &health
}
