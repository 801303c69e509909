package petstore_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/repository/sqlite"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	goleak.VerifyTestMain(m)
}

// newService returns a service that is closed when the test ends.
func newService(t *testing.T, o petstore.Options) *petstore.Service {
	t.Helper()
	if o.Store == nil {
		o.Store = sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
	}
	service, err := petstore.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil { // nil if the test has closed it
			t.Error(err)
		}
	})
	return service
}

func mounted(t *testing.T, service *petstore.Service) *gin.Engine {
	t.Helper()
	engine := gin.New()
	if err := service.Mount(engine); err != nil {
		t.Fatal(err)
	}
	return engine
}

// status sends a request with a bearer token and returns the status of the response.
func status(t *testing.T, engine http.Handler, path, token string) int {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	request.Header.Set("Authorization", "Bearer "+token)
	response := httptest.NewRecorder()
	engine.ServeHTTP(response, request)
	return response.Code
}

func newKey(t *testing.T, service *petstore.Service) string {
	t.Helper()
	key, err := service.Keys().Create(t.Context(), "test", 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

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

func TestTwoServicesInOneProcessAreIndependent(t *testing.T) {
	t.Parallel()
	engine := gin.New()
	var keys []string
	registry := prometheus.NewRegistry()
	for _, prefix := range []string{"/a/v1", "/b/v1"} {
		service := newService(t, petstore.Options{
			Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"shop": prefix}, registry),
		})
		keys = append(keys, newKey(t, service))
		if err := service.Mount(engine.Group(prefix)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]int{"/a/v1/pets": {200, 401}, "/b/v1/pets": {401, 200}} {
		got := []int{status(t, engine, path, keys[0]), status(t, engine, path, keys[1])}
		if !slices.Equal(got, want) {
			t.Errorf("%s with the keys of a and b: got %v, want %v", path, got, want)
		}
	}
}

func TestNewRequiresStoreWithSchema(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.db")
	rejected := filepath.Join(t.TempDir(), "rejected.db")
	for name, o := range map[string]petstore.Options{
		"Options.Store":  {},
		"missing.db":     {Store: sqlite.New(missing), NoMigration: true},
		"RequestTimeout": {Store: sqlite.New(rejected), RequestTimeout: -1},
	} {
		if _, err := petstore.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want one about %s", err, name)
		}
	}
	for _, path := range []string{missing, rejected} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was created", path)
		}
	}
}

func TestKeyUsesAreStoredOnClose(t *testing.T) {
	t.Parallel()
	store := sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
	first := newService(t, petstore.Options{Store: store})
	if got := status(t, mounted(t, first), "/pets", newKey(t, first)); got != http.StatusOK {
		t.Errorf("got status %d, want 200", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	keys, err := newService(t, petstore.Options{Store: store}).Keys().List(t.Context())
	if err != nil || keys[0].LastUsedAt == nil {
		t.Errorf("got keys %+v and error %v, want the last use of one", keys, err)
	}
}

func TestFailedWriteOfKeyUsesIsLoggedOnce(t *testing.T) {
	t.Parallel()
	core, log := observer.New(zap.WarnLevel)
	service := newService(t, petstore.Options{Logger: zap.New(core)})
	status(t, mounted(t, service), "/pets", newKey(t, service))
	if err := service.Store().Close(); err != nil {
		t.Fatal(err)
	}
	_ = service.Close()
	if got := log.FilterMessage("cannot store when API keys were last used").Len(); got != 1 {
		t.Errorf("got %d entries, want 1", got)
	}
}

func TestDocumentHasNoAPIKeysOfPetstoreIfTheHostAuthenticates(t *testing.T) {
	t.Parallel()
	service := newService(t, petstore.Options{Authenticate: func(*gin.Context) (string, error) { return "ann", nil }})
	engine := gin.New()
	if err := errors.Join(service.Mount(engine.Group("/v1")), swagger.Mount(engine, service)); err != nil {
		t.Fatal(err)
	}
	response := httptest.NewRecorder()
	engine.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/openapi.json", http.NoBody))
	for text, want := range map[string]bool{"petstore keys": false, "issued your API key": false, `"scheme": "bearer"`: true} {
		if strings.Contains(response.Body.String(), text) != want {
			t.Errorf("the document has %s: got %t, want %t", text, !want, want)
		}
	}
}

func TestEndOfContextInterruptsNewOnly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	store := sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
	service, err := petstore.New(ctx, petstore.Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	newKey(t, service)
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	if _, err := petstore.New(ctx, petstore.Options{Store: store}); err == nil {
		t.Error("with an ended context New returned no error")
	}
}

func TestInvalidOptionsAreRejectedBeforeTheStoreIsCreated(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]petstore.Options{
		"Options.ChangesRetention is 59m0s: use at least 1h0m0s": {ChangesRetention: 59 * time.Minute},
		"Options.ChangeStreams is negative":                      {ChangeStreams: -1},
		"Options.RequestTimeout is negative":                     {RequestTimeout: -1},
	} {
		path := filepath.Join(t.TempDir(), "pets.db")
		o.Store = sqlite.New(path)
		_, err := petstore.New(t.Context(), o)
		if err == nil || err.Error() != "petstore.New: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the store was created: %v", err)
		}
	}
}
