package petstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// registered registers collectors in the registry of the host, and remembers them for unregister. Without a registry
// (nil) it does nothing.
type registered struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

// Register implements prometheus.Registerer.
func (r *registered) Register(c prometheus.Collector) error {
	if r.Registerer == nil {
		return nil
	}
	err := r.Registerer.Register(c)
	if err == nil {
		r.collectors = append(r.collectors, c)
	}
	return err
}

// registerAll registers collectors. Its error has a remedy.
func (r *registered) registerAll(all ...prometheus.Collector) error {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("petstore.New: this registry has metrics with the same names and labels, such as those of another service: "+
				"use another registry or add a label: %w", err)
		}
	}
	return nil
}

// unregister removes all collectors from the registry, so that the host can open another service.
func (r *registered) unregister() {
	for _, c := range r.collectors {
		r.Unregister(c)
	}
	r.collectors = nil
}

// registerTransactions registers the metrics of commits and of store errors, and returns the
// functions for repository.Options that observe them.
func (r *registered) registerTransactions() (commit func(batch int, took time.Duration), failure func(engine.Failure), err error) {
	sizes := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_store_commit_batch_size", Help: "Transactions that shared one commit.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 9),
	})
	durations := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "petstore_store_commit_duration_seconds",
		Help:    "Duration of the transaction of a batch, including its wait for other processes and its commit.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
	})
	kinds := make([]string, len(engine.Failures()))
	for i, failure := range engine.Failures() {
		kinds[i] = string(failure)
	}
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_store_errors_total",
		Help: "Transactions and reads that failed because of the store, by kind: " + strings.Join(kinds, ", ") +
			". A failed commit counts once for each of its requests. A client that disconnects does not count.",
	}, []string{"kind"})
	for _, kind := range kinds {
		failures.WithLabelValues(kind) // exports 0, so that rate() sees the first error
	}
	commit = func(batch int, took time.Duration) {
		sizes.Observe(float64(batch))
		durations.Observe(took.Seconds())
	}
	failure = func(f engine.Failure) { failures.WithLabelValues(string(f)).Inc() }
	return commit, failure, r.registerAll(sizes, durations, failures)
}

// registerStore registers the metrics of connection pools, waiting transactions, animals, API keys and followers.
func (r *registered) registerStore(store *repository.Store, pets *usecase.Pets, following *followers, now func() time.Time) error {
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_store_waiting_transactions", Help: "Transactions that are queued or not committed yet.",
	}, func() float64 { return float64(store.Waiting()) })
	return r.registerAll(append(store.Collectors(), petCollector{pets}, keyCollector{store.Keys(), now}, following, waiting)...)
}

// scrapeTimeout is the maximum time that a scrape waits for the animals, and for the API keys. If the store is not
// available, the scrape has all other metrics. The failure is counted in petstore_store_errors_total.
const scrapeTimeout = time.Second

var animals = prometheus.NewDesc("petstore_pets", "Animals in the store, by status: available, pending, sold or none.", []string{"status"}, nil)

// A petCollector exports the number of animals, which it reads at each scrape.
type petCollector struct{ pets *usecase.Pets }

// Describe implements prometheus.Collector.
func (petCollector) Describe(to chan<- *prometheus.Desc) { to <- animals }

// Collect implements prometheus.Collector.
func (c petCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	counts, err := c.pets.Inventory(ctx, nil)
	if err != nil {
		return
	}
	for status, n := range map[string]int64{
		string(domain.PetAvailable): counts.Available, string(domain.PetPending): counts.Pending, string(domain.PetSold): counts.Sold,
		"none": counts.None,
	} {
		to <- prometheus.MustNewConstMetric(animals, prometheus.GaugeValue, float64(n), status)
	}
}

var keyExpiration = prometheus.NewDesc(
	"petstore_key_expiration_timestamp_seconds",
	"When API keys expire, by the id of the key, in seconds since 1970. Missing are keys that never expire, are not valid or were rotated.",
	[]string{"key_id"}, nil,
)

// A keyCollector exports when API keys expire. It reads the keys at each scrape.
type keyCollector struct {
	keys port.KeyReader
	now  func() time.Time
}

// Describe implements prometheus.Collector.
func (keyCollector) Describe(to chan<- *prometheus.Desc) { to <- keyExpiration }

// Collect implements prometheus.Collector.
func (c keyCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	keys, err := c.keys.List(ctx)
	if err != nil {
		return
	}
	for _, key := range keys {
		if key.ExpiresAt != nil && key.RevokedAt == nil && key.Usable(c.now()) {
			seconds := float64(key.ExpiresAt.UnixMilli()) / 1000
			to <- prometheus.MustNewConstMetric(keyExpiration, prometheus.GaugeValue, seconds, strconv.FormatInt(key.ID, 10))
		}
	}
}
