package telemetry

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
)

// NewRegistry returns a registry with the metrics of the Go runtime, the process and the
// build, and whether the service is ready.
func NewRegistry(ready func() bool) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
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

// RegisterStoreMetrics registers the metrics of the store's connection pools, of its waiting
// transactions and of its API keys.
func RegisterStoreMetrics(registry *prometheus.Registry, store *repository.Store) {
	for name, pool := range store.Pools() {
		registry.MustRegister(collectors.NewDBStatsCollector(pool, name))
	}
	registry.MustRegister(keyCollector{store.Keys()})
	promauto.With(registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_store_waiting_transactions", Help: "Transactions that are queued or not committed yet.",
	}, func() float64 { return float64(store.Waiting()) })
}

// RegisterCommitMetrics registers the metrics of commits and returns the function for
// repository.Options.ObserveCommit.
func RegisterCommitMetrics(registry *prometheus.Registry) func(batch int, took time.Duration) {
	sizes := promauto.With(registry).NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_store_commit_batch_size", Help: "Transactions that shared one commit.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 9),
	})
	durations := promauto.With(registry).NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_store_commit_duration_seconds", Help: "Duration of the transaction of a batch, including its wait for other processes and its commit.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
	})
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
	counter := promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_store_errors_total",
		Help: "Transactions and reads that failed because of the store, by kind: " + strings.Join(kinds, ", ") +
			". A failed commit counts once for each of its requests. A client that disconnects does not count.",
	}, []string{"kind"})
	for _, kind := range kinds {
		counter.WithLabelValues(kind) // 0 is exported, so that rate() sees the first error
	}
	return func(failure engine.Failure) { counter.WithLabelValues(string(failure)).Inc() }
}

// keyMetricsTimeout is how long a scrape waits at most for the API keys.
const keyMetricsTimeout = time.Second

var keyExpiration = prometheus.NewDesc(
	"petstore_key_expiration_timestamp_seconds",
	"When API keys expire, by the id of the key, in seconds since 1970. Missing are keys that never expire, are not valid or were rotated.",
	[]string{"key_id"}, nil,
)

// A keyCollector reads from the store when API keys expire, at each scrape. If the store is
// not available, the scrape lacks these times but has all other metrics.
type keyCollector struct{ keys domain.KeyReader }

// Describe implements prometheus.Collector.
func (keyCollector) Describe(to chan<- *prometheus.Desc) { to <- keyExpiration }

// Collect implements prometheus.Collector.
func (c keyCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), keyMetricsTimeout)
	defer cancel()
	keys, err := c.keys.List(ctx)
	if err != nil {
		return // counted in petstore_store_errors_total
	}
	now := time.Now()
	for _, key := range keys {
		if key.ExpiresAt != nil && key.RevokedAt == nil && key.Usable(now) {
			seconds := float64(key.ExpiresAt.UnixMilli()) / 1000
			to <- prometheus.MustNewConstMetric(keyExpiration, prometheus.GaugeValue, seconds, strconv.FormatInt(key.ID, 10))
		}
	}
}
