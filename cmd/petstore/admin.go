package main

import (
	"context"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/repository"
)

// newRegistry has the metrics of the program itself.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return registry
}

// registererFor is the registry, or none where no listener would answer with it: what
// nobody can read is not worth a measurement for each request.
func registererFor(registry *prometheus.Registry, admin net.Listener) prometheus.Registerer {
	if admin == nil {
		return nil
	}
	return registry
}

// measureLog adds the counter of lines that the log dropped.
func measureLog(registry *prometheus.Registry) prometheus.Counter {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "petstore_log_dropped_lines_total", Help: "Log lines dropped because standard error could not be written in time.",
	})
	registry.MustRegister(dropped)
	return dropped
}

// registerPoolMetrics adds the connections of a store.
func registerPoolMetrics(registry *prometheus.Registry, store *repository.Store) {
	for name, pool := range store.Pools() {
		registry.MustRegister(collectors.NewDBStatsCollector(pool, name))
	}
}

// registerCommitMetrics adds the commits of the store that calls what it returns.
func registerCommitMetrics(registry *prometheus.Registry) func(acts int, took time.Duration) {
	sizes := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_store_commit_acts", Help: "How many writes shared a commit.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 9),
	})
	durations := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_store_commit_duration_seconds", Help: "How long commits took, from the first statement until the disk had them.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
	})
	registry.MustRegister(sizes, durations)
	return func(acts int, took time.Duration) {
		sizes.Observe(float64(acts))
		durations.Observe(took.Seconds())
	}
}

// registerErrorMetrics adds the errors of the store that calls what it returns.
func registerErrorMetrics(registry *prometheus.Registry) func(kind string) {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_store_errors_total",
		Help: "Transactions and reads that failed by the store's fault, by kind: " + strings.Join(repository.ErrorKinds(), ", ") +
			". A commit that fails for several requests counts for each, a client that disconnected does not.",
	}, []string{"kind"})
	registry.MustRegister(counter)
	for _, kind := range repository.ErrorKinds() {
		counter.WithLabelValues(kind) // at 0, so that the first error is an increase
	}
	return func(kind string) { counter.WithLabelValues(kind).Inc() }
}

// adminHandler serves what only an operator may see: the metrics and the profiles
// of the process, but not its command line, where a setting may be a secret.
func adminHandler(metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serveAdmin answers on the listener for operators, where there is one.
func serveAdmin(ctx context.Context, listener net.Listener, metrics prometheus.Gatherer, t server.Timeouts, log *zap.Logger) error {
	if listener == nil {
		return nil
	}
	log.Info("serving metrics and profiles", zap.Stringer("address", listener.Addr()))
	// A profile takes as long as its reader wants, but ends with the service.
	t.Write, t.Delay, t.Shutdown = 0, 0, 100*time.Millisecond
	if err := server.Serve(ctx, listener, adminHandler(metrics), t, log); ctx.Err() == nil {
		return err
	}
	return nil // whoever still read a profile was cut off
}
