package petstore_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore"
	"example.com/petstore/repository/sqlite"
)

// metricNames returns the names of the metrics in a registry.
func metricNames(t *testing.T, registry *prometheus.Registry) map[string]bool {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, family := range families {
		names[family.GetName()] = true
	}
	return names
}

func TestMetricsAreRegisteredUntilClose(t *testing.T) {
	t.Parallel()
	registry, dir := prometheus.NewRegistry(), t.TempDir()
	open := func(name string) (*petstore.Service, error) {
		return petstore.New(t.Context(), petstore.Options{Store: sqlite.New(filepath.Join(dir, name)), Metrics: registry})
	}
	first, err := open("first.db")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Keys().Create(t.Context(), "till", time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"petstore_key_expiration_timestamp_seconds", "petstore_http_requests_in_flight", "petstore_store_commit_batch_size", "petstore_store_errors_total",
		"petstore_store_waiting_transactions", "go_sql_open_connections",
	} {
		if names := metricNames(t, registry); !names[name] {
			t.Errorf("got the metrics %v, want %s among them", names, name)
		}
	}
	if _, err := open("second.db"); err == nil || !strings.Contains(err.Error(), "another registry") {
		t.Errorf("a second service: got error %v, want the remedy", err)
	}
	if err := first.Store().Close(); err != nil {
		t.Fatal(err)
	}
	if names := metricNames(t, registry); names["petstore_key_expiration_timestamp_seconds"] || !names["petstore_store_waiting_transactions"] {
		t.Errorf("with a closed store: got the metrics %v, want all but those of the keys", names)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if names := metricNames(t, registry); len(names) != 0 {
		t.Errorf("after Close: got the metrics %v, want none", names)
	}
	second, err := open("second.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil || len(metricNames(t, registry)) == 0 {
		t.Errorf("a second Close: got error %v and the metrics %v, want those of the second service", err, metricNames(t, registry))
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
