package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/docs"
	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	goleak.VerifyTestMain(m)
}

// newService returns a service. It is closed when the test ends.
func newService(t *testing.T, e engine.Engine, o petstore.Options) *petstore.Service {
	t.Helper()
	service, err := petstore.New(t.Context(), e, o)
	testkit.Check(t, err)
	t.Cleanup(func() {
		if err := service.Close(); err != nil { // nil if the test has closed it
			t.Error(err)
		}
	})
	return service
}

func newEngine(t *testing.T) engine.Engine {
	t.Helper()
	return sqlite.New(filepath.Join(t.TempDir(), "pets.db"))
}

func mounted(t *testing.T, service *petstore.Service) *gin.Engine {
	t.Helper()
	engine := gin.New()
	testkit.Check(t, service.Mount(engine))
	return engine
}

// status sends a request with a bearer token and returns the status of the response.
func status(t *testing.T, engine http.Handler, path, token string) int {
	t.Helper()
	return send(t, engine, http.MethodGet, path, token, "").Code
}

// send sends a request with a bearer token and a JSON body.
func send(t *testing.T, engine http.Handler, method, path, token, body string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	engine.ServeHTTP(response, request)
	return response
}

func newKey(t *testing.T, service *petstore.Service) string {
	t.Helper()
	key, err := service.Keys().Create(t.Context(), "test", 0, "")
	testkit.Check(t, err)
	return key
}

func TestNowIsTheClockOfOrdersAndOfTheRateLimit(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 13, 0, 0, 1_234_567, time.FixedZone("CET", 3600))
	var now atomic.Pointer[time.Time]
	now.Store(&noon)
	service := newService(t, newEngine(t), petstore.Options{
		Now: func() time.Time { return *now.Load() },
		API: rest.Options{
			RateLimit:    rest.RateLimit{Requests: 1, Window: time.Minute},
			Authenticate: func(*gin.Context) (string, error) { return "ann", nil },
		},
	})
	pet, _, err := service.Pets().Create(t.Context(), domain.NewPet{Name: "Rex"}, domain.IdempotencyKey{})
	testkit.Check(t, err)
	order, _, err := service.Orders().Place(t.Context(), pet.ID, domain.IdempotencyKey{})
	testkit.Equal(t, "the time of the order", "2026-11-20T12:00:00.001Z", order.CreatedAt.Format(time.RFC3339Nano), err)
	engine := mounted(t, service)
	for i, want := range []int{200, 429, 200} {
		if i == 2 {
			now.Store(new(noon.Add(time.Minute)))
		}
		testkit.Equal(t, "the status", want, status(t, engine, "/pets", ""))
	}
}

func TestOptionsAreCheckedBeforeTheStoreIsCreated(t *testing.T) {
	t.Parallel()
	_, err := petstore.New(t.Context(), nil, petstore.Options{})
	testkit.WantMessage(t, "New without an engine", err, "the engine is nil: use sqlite.New or postgres.New")
	for want, o := range map[string]petstore.Options{
		"there is no such file": {NoMigration: true},
		"petstore.New: Options.ChangesRetention is 59m0s: use at least 1h0m0s": {ChangesRetention: 59 * time.Minute},
		"petstore.New: Options.ChangeStreams is negative":                      {API: rest.Options{ChangeStreams: -1}},
		"petstore.New: Options.RequestTimeout is negative":                     {API: rest.Options{RequestTimeout: -1}},
		"the option MaxOpenConns is -3: use 1 or more, or 0 for 4":             {MaxOpenConns: -3},
	} {
		path := filepath.Join(t.TempDir(), "pets.db")
		if _, err := petstore.New(t.Context(), sqlite.New(path), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the store was created: %v", err)
		}
	}
}

// A change says who made it: an API key, a user of the host, or Go code.
func TestChangesSayWhoMadeThem(t *testing.T) {
	t.Parallel()
	store := newEngine(t)
	post := func(service *petstore.Service, key string) {
		t.Helper()
		response := send(t, mounted(t, service), http.MethodPost, "/pets", key, `{"name":"Rex","categoryId":7}`)
		testkit.Equal(t, "the status", http.StatusCreated, response.Code)
	}
	host := newService(t, store, petstore.Options{API: rest.Options{
		Authenticate: func(*gin.Context) (string, error) { return "ann", nil },
	}})
	post(host, "")
	testkit.Check(t, host.Close()) // one service serves a file
	service := newService(t, store, petstore.Options{})
	post(service, newKey(t, service))
	_, _, err := service.Pets().Create(domain.WithCaller(t.Context(), "user:job"), domain.NewPet{Name: "Tom"}, domain.IdempotencyKey{})
	testkit.Check(t, err)
	page, err := service.Changes().List(t.Context(), domain.PageRequest{Limit: 10})
	var callers []string
	for _, change := range page.Items {
		callers = append(callers, change.Caller)
	}
	slices.Sort(callers)
	testkit.Equal(t, "the callers", []string{"key:1", "user:ann", "user:job"}, callers, err)
}

// The number of an API key as a Caller was the scope of that key once.
func TestIdempotencyKeysOfTheHostAreNotThoseOfAPIKeys(t *testing.T) {
	t.Parallel()
	service := newService(t, newEngine(t), petstore.Options{})
	key := newKey(t, service)
	host, _, err := service.Pets().Create(t.Context(), domain.NewPet{Name: "Rex"}, domain.IdempotencyKey{Caller: "1", Value: "one"})
	testkit.Check(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/pets", strings.NewReader(`{"name":"Rex","categoryId":0}`))
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "one")
	response := httptest.NewRecorder()
	mounted(t, service).ServeHTTP(response, request)
	if response.Code != http.StatusCreated || strings.Contains(response.Body.String(), fmt.Sprintf(`"id":%d,`, host.ID)) {
		t.Errorf("got %d %s, want an animal other than that of the host", response.Code, response.Body)
	}
}

func TestDocumentHasNoAPIKeysOfPetstoreIfTheHostAuthenticates(t *testing.T) {
	t.Parallel()
	service := newService(t, newEngine(t), petstore.Options{API: rest.Options{
		Authenticate: func(*gin.Context) (string, error) { return "ann", nil },
	}})
	_, document, err := docs.Document(service.Document(), "v1")
	testkit.Check(t, err)
	for text, want := range map[string]bool{"petstore keys": false, "issued your API key": false, `"scheme": "bearer"`: true} {
		if strings.Contains(string(document), text) != want {
			t.Errorf("the document has %s: got %t, want %t", text, !want, want)
		}
	}
}

func TestEndOfContextInterruptsNewOnly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	store := newEngine(t)
	service, err := petstore.New(ctx, store, petstore.Options{})
	testkit.Check(t, err)
	cancel()
	newKey(t, service)
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	if _, err := petstore.New(ctx, store, petstore.Options{}); err == nil {
		t.Error("with an ended context New returned no error")
	}
}

func TestOneServiceServesASQLiteFile(t *testing.T) {
	t.Parallel()
	store := newEngine(t)
	first, err := petstore.New(t.Context(), store, petstore.Options{})
	testkit.Check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // New waits longer for the first service
	defer cancel()
	_, err = petstore.New(ctx, store, petstore.Options{})
	testkit.WantError(t, "New beside another service", err, context.DeadlineExceeded)
	testkit.Check(t, petstore.Migrate(t.Context(), store))
	testkit.Check(t, first.Close())
	newService(t, store, petstore.Options{})
}

func TestMigrateIsAStepOfItsOwn(t *testing.T) {
	t.Parallel()
	store, o := newEngine(t), petstore.Options{NoMigration: true}
	for range 2 { // the second one changes nothing
		testkit.Check(t, petstore.Migrate(t.Context(), store))
		testkit.Check(t, newService(t, store, o).Close())
	}
	err := petstore.Migrate(t.Context(), sqlite.New(t.TempDir()))
	testkit.WantMessage(t, "Migrate of a folder", err, "open the store")
}

func TestRulesOfTheHostApplyToTheAPIAndToItsGoCode(t *testing.T) {
	t.Parallel()
	service := newService(t, newEngine(t), petstore.Options{Validate: func(ctx context.Context, pet domain.NewPet) (violations []domain.Violation) {
		if pet.CategoryID == 8 && domain.CallerOf(ctx) != "key:1" {
			violations = append(violations, domain.Violation{Field: "categoryId", Rule: "is for the caller key:1"})
		}
		if pet.CategoryID > 9 {
			violations = append(violations, domain.Violation{Field: "categoryId", Rule: "must be a category of the shop, 0 to 9"})
		}
		return violations
	}})
	engine, key := mounted(t, service), newKey(t, service)
	for _, test := range []struct{ method, path, body, want string }{
		{method: "POST", path: "/pets", body: `{"name":"Rex","categoryId":10}`, want: "categoryId must be a category of the shop, 0 to 9"},
		{method: "POST", path: "/pets", body: `{"name":"","categoryId":10}`, want: "name must be 1 to 200 characters, not blank"},
		{
			method: "POST",
			path:   "/pets/batch",
			body:   `[{"name":"Rex","categoryId":9},{"name":"Mia","categoryId":10}]`,
			want:   "[1].categoryId must be a category of the shop, 0 to 9",
		},
		{method: "POST", path: "/pets", body: `{"name":"Rex","categoryId":9}`},
		{method: "PATCH", path: "/pets/1", body: `{"categoryId":10}`, want: "categoryId must be a category of the shop, 0 to 9"},
		{method: "PATCH", path: "/pets/2", body: `{"categoryId":10}`, want: "there is no pet with the id 2"},
		{method: "PATCH", path: "/pets/1", body: `{"categoryId":8}`},
	} {
		response := send(t, engine, test.method, test.path, key, test.body)
		if ok := response.Code < 300; ok != (test.want == "") || !strings.Contains(response.Body.String(), test.want) {
			t.Errorf("%s %s %s: got %d %s, want %s", test.method, test.path, test.body, response.Code, response.Body, test.want)
		}
	}
	for _, category := range []int64{8, 10} {
		_, _, err := service.Pets().Create(t.Context(), domain.NewPet{Name: "Rex", CategoryID: category}, domain.IdempotencyKey{})
		testkit.WantError(t, "Create", err, domain.ErrInvalid)
	}
	pets, err := service.Pets().List(t.Context(), domain.PetQuery{})
	testkit.Equal(t, "the animals", []domain.Pet{{ID: 1, Name: "Rex", CategoryID: 8}}, pets.Items, err)
}
