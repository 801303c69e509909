package telemetry

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/domain"
)

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
