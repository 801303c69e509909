package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// NewRegistry returns a registry with the metrics of the Go runtime, the process and the build, with petstore_build_info,
// and with petstore_ready, the result of ready.
func NewRegistry(version, commit string, ready func() bool) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
		Name: "petstore_build_info", Help: "1, with the version and the commit of the program.",
	}, []string{"version", "commit"}).WithLabelValues(version, commit).Set(1)
	promauto.With(registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_ready", Help: "1 if /readyz returns 200, else 0.",
	}, func() float64 {
		if ready() {
			return 1
		}
		return 0
	})
	return registry
}
