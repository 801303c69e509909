package telemetry

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

func TestMetricsOfUnavailableStoreLackTheKeysOnly(t *testing.T) {
	t.Parallel()
	store, err := repository.Open(t.Context(), sqlite.New(filepath.Join(t.TempDir(), "petstore.db")), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	RegisterStoreMetrics(registry, store)
	_, err = usecase.NewKeys(store, store.Keys(), time.Now).Create(t.Context(), "till", time.Hour)
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, family := range families {
		names[family.GetName()] = true
	}
	if names["petstore_key_expiration_timestamp_seconds"] || !names["petstore_store_waiting_transactions"] {
		t.Errorf("got the metrics %v, want all but the times when keys expire", names)
	}
}
