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
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore"
	"example.com/petstore/docs"
	"example.com/petstore/domain"
	"example.com/petstore/repository/enginetest"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/storetest"
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
	storetest.Check(t, err)
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
	storetest.Check(t, service.Mount(engine))
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
	storetest.Check(t, err)
	return key
}

func metricNames(t *testing.T, registry *prometheus.Registry) map[string]bool {
	t.Helper()
	families, err := registry.Gather()
	storetest.Check(t, err)
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
		return petstore.Options{
			Store:   sqlite.New(filepath.Join(t.TempDir(), "pets.db")),
			Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"shop": name}, registry),
		}
	}
	first, other := newService(t, shop("a")), shop("a")
	if _, err := first.Keys().Create(t.Context(), "till", time.Hour); err != nil {
		t.Fatal(err)
	}
	want := func(want map[string]bool) { // docs/metrics.md is compared with all
		t.Helper()
		names := metricNames(t, registry)
		for name, registered := range want {
			if names[name] != registered {
				t.Errorf("got the metrics %v, want %s: %t", names, name, registered)
			}
		}
	}
	const expiration, waiting = "petstore_key_expiration_timestamp_seconds", "petstore_store_waiting_transactions"
	want(map[string]bool{expiration: true, waiting: true, "petstore_http_requests_in_flight": true, "go_sql_open_connections": true})
	if _, err := petstore.New(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another registry") {
		t.Errorf("a second service: got error %v, want the remedy", err)
	}
	storetest.Check(t, first.Store().Close())
	want(map[string]bool{expiration: false, waiting: true})
	storetest.Check(t, first.Close())
	if names := metricNames(t, registry); len(names) != 0 {
		t.Errorf("after Close: got the metrics %v, want none", names)
	}
	second, third := newService(t, other), newService(t, shop("b"))
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	want(map[string]bool{waiting: true}) // of the second service, after a second Close of the first

	engine := gin.New()
	storetest.Check(t, errors.Join(second.Mount(engine.Group("/a")), third.Mount(engine.Group("/b"))))
	for path, want := range map[string][]int{"/a/pets": {200, 401}, "/b/pets": {401, 200}} {
		got := []int{status(t, engine, path, newKey(t, second)), status(t, engine, path, newKey(t, third))}
		if !slices.Equal(got, want) {
			t.Errorf("%s with the keys of a and b: got %v, want %v", path, got, want)
		}
	}
}

func TestOptionsAreCheckedBeforeTheStoreIsCreated(t *testing.T) {
	t.Parallel()
	if _, err := petstore.New(t.Context(), petstore.Options{}); err == nil || !strings.Contains(err.Error(), "Options.Store") {
		t.Errorf("got %v, want an error about the store", err)
	}
	for want, o := range map[string]petstore.Options{
		"there is no such file": {NoMigration: true},
		"petstore.New: Options.ChangesRetention is 59m0s: use at least 1h0m0s": {ChangesRetention: 59 * time.Minute},
		"petstore.New: Options.ChangeStreams is negative":                      {ChangeStreams: -1},
		"petstore.New: Options.RequestTimeout is negative":                     {RequestTimeout: -1},
		"the option MaxStaleness is -1s: use 0s to 5s":                         {MaxStaleness: -time.Second},
		"the option MaxOpenConns is -3: use 1 or more, or 0 for 4":             {MaxOpenConns: -3},
	} {
		path := filepath.Join(t.TempDir(), "pets.db")
		o.Store = sqlite.New(path)
		if _, err := petstore.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the store was created: %v", err)
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
	storetest.Check(t, first.Close())
	keys, err := newService(t, petstore.Options{Store: store}).Keys().List(t.Context())
	if err != nil || keys[0].LastUsedAt == nil {
		t.Errorf("got keys %+v and error %v, want the last use of one", keys, err)
	}
}

// TestFirstFailedWriteOfKeyUsesIsLogged: with requests that only read, no other error says that writes fail.
func TestFirstFailedWriteOfKeyUsesIsLogged(t *testing.T) {
	t.Parallel()
	database := enginetest.Database{Driver: enginetest.SQLite, DSN: filepath.Join(t.TempDir(), "pets.db")}
	synctest.Test(t, func(t *testing.T) {
		core, log := observer.New(zap.WarnLevel)
		service := newService(t, petstore.Options{Store: database.Engine(), Logger: zap.New(core)})
		engine, first, second := mounted(t, service), newKey(t, service), newKey(t, service)
		want := func(want int) {
			t.Helper()
			if got := log.FilterMessage("cannot store when API keys were last used").Len(); got != want || log.Len() != want {
				t.Errorf("got the log %v, want %d entries", log.All(), want)
			}
		}
		status(t, engine, "/pets", first)
		database.Exec(t, "ALTER TABLE api_keys RENAME TO removed")
		time.Sleep(6 * time.Second)
		want(1)
		time.Sleep(5 * time.Second)
		want(1)
		database.Exec(t, "ALTER TABLE removed RENAME TO api_keys")
		time.Sleep(5 * time.Second)
		status(t, engine, "/pets", second)
		storetest.Check(t, service.Store().Close())
		_ = service.Close()
		want(2)
	})
}

func TestDocumentHasChangesIfTheyAreRecorded(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{true, false} {
		_, document, err := docs.Document(newService(t, petstore.Options{RecordChanges: recorded}).Document(), "v1")
		storetest.Check(t, err)
		if got := strings.Contains(string(document), "listChanges\""); got != recorded {
			t.Errorf("recorded %t: the document has listChanges: %t", recorded, got)
		}
	}
}

func TestDocumentHasNoAPIKeysOfPetstoreIfTheHostAuthenticates(t *testing.T) {
	t.Parallel()
	service := newService(t, petstore.Options{Authenticate: func(*gin.Context) (string, error) { return "ann", nil }})
	_, document, err := docs.Document(service.Document(), "v1")
	storetest.Check(t, err)
	for text, want := range map[string]bool{"petstore keys": false, "issued your API key": false, `"scheme": "bearer"`: true} {
		if strings.Contains(string(document), text) != want {
			t.Errorf("the document has %s: got %t, want %t", text, !want, want)
		}
	}
}

func TestEndOfContextInterruptsNewOnly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	store := sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
	service, err := petstore.New(ctx, petstore.Options{Store: store})
	storetest.Check(t, err)
	cancel()
	newKey(t, service)
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	if _, err := petstore.New(ctx, petstore.Options{Store: store}); err == nil {
		t.Error("with an ended context New returned no error")
	}
}

func TestServiceWithoutChangesRemovesThemUntilAnotherRecordsThem(t *testing.T) {
	t.Parallel()
	store := sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
	synctest.Test(t, func(t *testing.T) {
		core, log := observer.New(zap.InfoLevel)
		logged := func(message string) int { return log.FilterMessageSnippet(message).Len() }
		with := newService(t, petstore.Options{Store: store, RecordChanges: true, Logger: zap.New(core)})
		engine, key := mounted(t, with), newKey(t, with)
		wantChanges := func(engine http.Handler, wantStatus int, wantActive bool) domain.Recording {
			t.Helper()
			got := status(t, engine, "/changes", key)
			recording, err := with.Store().Changes().Recording(t.Context())
			if err != nil || got != wantStatus || recording.Active != wantActive {
				t.Errorf("got the status %d, %+v and %v, want %d and active %t", got, recording, err, wantStatus, wantActive)
			}
			return recording
		}
		first := wantChanges(engine, http.StatusOK, true)
		without := newService(t, petstore.Options{Store: store, Logger: zap.New(core)})
		synctest.Wait()
		wantChanges(mounted(t, without), http.StatusNotFound, false)
		before := logged("began to record changes again")
		time.Sleep(61 * time.Second)
		wantChanges(engine, http.StatusOK, true)
		if logged("removed all changes, because this service does not record them") != 1 || before != 0 || logged("began to record changes again") != 1 {
			t.Errorf("got %d before, and the log %v", before, log.All())
		}
		_, err := with.Store().Changes().List(t.Context(), domain.PageRequest{After: first.Last, Limit: 1})
		if err == nil || err.Error() != domain.ChangesExpired(first.Last).Error() {
			t.Errorf("an earlier position: got %v, want that it has expired", err)
		}
	})
}
