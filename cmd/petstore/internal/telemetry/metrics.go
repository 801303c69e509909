package telemetry

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
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

// RegistererFor returns the registry, or nil if there is no admin listener to serve it:
// then requests are not measured.
func RegistererFor(registry *prometheus.Registry, admin net.Listener) prometheus.Registerer {
	if admin == nil {
		return nil
	}
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

// RegisterStoreMetrics registers the metrics of the store's connection pools, of its waiting
// transactions and of its API keys.
func RegisterStoreMetrics(registry *prometheus.Registry, store *repository.Store) {
	for name, pool := range store.Pools() {
		registry.MustRegister(collectors.NewDBStatsCollector(pool, name))
	}
	registry.MustRegister(keyCollector{store.Keys()}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_store_waiting_transactions", Help: "Transactions that are queued or not committed yet.",
	}, func() float64 { return float64(store.Waiting()) }))
}

// RegisterCommitMetrics registers the metrics of commits and returns the function for
// repository.Options.ObserveCommit.
func RegisterCommitMetrics(registry *prometheus.Registry) func(batch int, took time.Duration) {
	sizes := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_store_commit_batch_size", Help: "Transactions that shared one commit.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 9),
	})
	durations := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_store_commit_duration_seconds", Help: "Duration of the transaction of a batch, including its wait for other processes and its commit.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
	})
	registry.MustRegister(sizes, durations)
	return func(batch int, took time.Duration) {
		sizes.Observe(float64(batch))
		durations.Observe(took.Seconds())
	}
}

// RegisterFailureMetrics registers the counter of store errors and returns the function for
// repository.Options.ObserveFailure.
func RegisterFailureMetrics(registry *prometheus.Registry) func(engine.Failure) {
	kinds := make([]string, len(engine.Failures()))
	for i, failure := range engine.Failures() {
		kinds[i] = string(failure)
	}
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_store_errors_total",
		Help: "Transactions and reads that failed because of the store, by kind: " + strings.Join(kinds, ", ") +
			". A failed commit counts once for each of its requests. A client that disconnects does not count.",
	}, []string{"kind"})
	registry.MustRegister(counter)
	for _, kind := range kinds {
		counter.WithLabelValues(kind) // 0 is exported, so that rate() sees the first error
	}
	return func(failure engine.Failure) { counter.WithLabelValues(string(failure)).Inc() }
}
