package petstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/internal/test/testkit"
)

func metricNames(t *testing.T, registry *prometheus.Registry) map[string]bool {
	t.Helper()
	families, err := registry.Gather()
	testkit.Check(t, err)
	names := map[string]bool{}
	for _, family := range families {
		names[family.GetName()] = true
	}
	return names
}

func TestServicesAreIndependentAndTheirMetricsRegisteredUntilClose(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	shop := func(name string) petstore.Options {
		return petstore.Options{API: rest.Options{Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"shop": name}, registry)}}
	}
	first, other := newService(t, newEngine(t), shop("a")), shop("a")
	if _, err := first.Keys().Create(t.Context(), "till", time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	want := func(want map[string]bool) { // another test compares docs/metrics.md with all metrics
		t.Helper()
		for name, registered := range want { // a scrape waits at most a second for the store
			testkit.WaitUntil(t, fmt.Sprintf("%s is registered: %t", name, registered), func() bool {
				return metricNames(t, registry)[name] == registered
			})
		}
	}
	const expiration, waiting = "petstore_key_expiration_timestamp_seconds", "petstore_store_waiting_transactions"
	want(map[string]bool{expiration: true, waiting: true, "petstore_http_requests_in_flight": true, "go_sql_open_connections": true})
	if _, err := petstore.New(t.Context(), newEngine(t), other); err == nil || !strings.Contains(err.Error(), "another registry") {
		t.Errorf("a second service: got error %v, want the remedy", err)
	}
	testkit.Check(t, first.CloseStore())
	want(map[string]bool{expiration: false, waiting: true})
	testkit.Check(t, first.Close())
	if names := metricNames(t, registry); len(names) != 0 {
		t.Errorf("after Close: got the metrics %v, want none", names)
	}
	second, third := newService(t, newEngine(t), other), newService(t, newEngine(t), shop("b"))
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	want(map[string]bool{waiting: true}) // the metric of the second service, after a second Close of the first

	engine := gin.New()
	testkit.Check(t, errors.Join(second.Mount(engine.Group("/a")), third.Mount(engine.Group("/b"))))
	for path, want := range map[string][]int{"/a/pets": {200, 401}, "/b/pets": {401, 200}} {
		got := []int{status(t, engine, path, newKey(t, second)), status(t, engine, path, newKey(t, third))}
		if !slices.Equal(got, want) {
			t.Errorf("%s with the keys of a and b: got %v, want %v", path, got, want)
		}
	}
}

// Whether a key is usable is a matter of Options.Now, as in requests.
func TestExpirationOfKeysIsComparedWithTheClockOfTheHost(t *testing.T) {
	t.Parallel()
	registry, now := prometheus.NewRegistry(), atomic.Int64{}
	service := newService(t, newEngine(t), petstore.Options{
		Now: func() time.Time { return time.Unix(now.Load(), 0) }, API: rest.Options{Metrics: registry},
	})
	if _, err := service.Keys().Create(t.Context(), "till", time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	exported := func() bool { return metricNames(t, registry)["petstore_key_expiration_timestamp_seconds"] }
	testkit.WaitUntil(t, "a usable key is exported", exported) // a scrape waits at most a second for the store
	now.Store(3600)
	testkit.Equal(t, "an expired key is exported", false, exported())
}
