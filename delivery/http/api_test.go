package http

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	ginbinding "github.com/gin-gonic/gin/binding"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/test/testkit"
)

// unusedService returns a service whose use cases must not be called.
func unusedService() Service {
	return Service{
		Pets: struct{ Pets }{}, Orders: struct{ Orders }{}, Categories: struct{ Categories }{}, Changes: struct{ Changes }{}, Keys: struct{ Keys }{},
		Numbers: func(context.Context) (domain.Numbers, error) { return domain.Numbers{}, nil },
	}
}

func newAPI(t *testing.T, o Options) *API {
	t.Helper()
	api, err := New(unusedService(), o)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestNewChecksItsOptions(t *testing.T) {
	t.Parallel()
	used := prometheus.NewRegistry()
	newAPI(t, Options{Metrics: used})
	limit := func(requests int, window time.Duration) func(*Service, *Options) {
		return func(_ *Service, o *Options) { o.RateLimit = RateLimit{requests, window} }
	}
	for want, changes := range map[string][]func(*Service, *Options){
		"": {
			func(*Service, *Options) {},
			func(s *Service, o *Options) {
				s.Keys, o.Authenticate = nil, func(*gin.Context) (string, error) { return "caller", nil }
			},
			func(s *Service, o *Options) {
				o.AllowedOrigins = []string{
					"https://*.example.com", "https://*.shop.example:8443", "http://[::1]:3000", "http://localhost:*",
					"http://shop.example.com:443", "https://shop_1.example.com:80",
					"capacitor://localhost", "tauri://localhost", "app://.",
					"chrome-extension://gighmmpiobklfepjocnamgkkbiglidom", "vscode-webview://1B2c",
				}
			},
			func(s *Service, o *Options) { o.AllowedOrigins = []string{"*"} },
			limit(0, 0), limit(0, -time.Second), limit(1, time.Second), limit(1, 24*time.Hour),
			limit(1, math.MaxInt64/time.Second*time.Second), limit(999_999_999_999_999, time.Second),
		},
		"set Service.Pets, Service.Orders, Service.Categories, Service.Changes and Service.Numbers": {
			func(s *Service, _ *Options) { s.Pets = nil },
			func(s *Service, _ *Options) { s.Orders = nil },
			func(s *Service, _ *Options) { s.Categories = nil },
			func(s *Service, _ *Options) { s.Changes = nil },
			func(s *Service, _ *Options) { s.Numbers = nil },
		},
		"set Service.Keys or Options.Authenticate":      {func(s *Service, _ *Options) { s.Keys = nil }},
		"Options.RequestTimeout is negative":            {func(s *Service, o *Options) { o.RequestTimeout = -1 }},
		"this registry has the metrics of another API:": {func(s *Service, o *Options) { o.Metrics = used }},
		"Options.RateLimit has ": {
			limit(1_000_000_000_000_000, 24*time.Hour), limit(math.MaxInt, time.Second), limit(-1, time.Minute), limit(math.MinInt, time.Minute),
			limit(1, 0), limit(1, -time.Minute), limit(1, time.Nanosecond), limit(1, time.Second-1), limit(1, time.Second+1),
			limit(1, 1500*time.Millisecond), limit(1, math.MaxInt64),
		},
	} {
		for i, change := range changes {
			s, o := unusedService(), Options{}
			change(&s, &o)
			if _, err := New(s, o); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), "rest.New: "+want) {
				t.Errorf("options %d of %q: got error %v", i, want, err)
			}
		}
	}
	for _, origin := range []string{
		"", "null", "shop.example.com", "//shop.example.com", "https://", "https://shop.example.com/", "https://shop.example.com/shop",
		"https://me@shop.example.com", "https://shop.example.com?a", "https://*.*.example.com", ":", "https://shop.example.com#",
		"https://shop.example.com:",
		"https://shop.example.com:443", "http://shop.example.com:80", "https://shop.example.com:100000", "https://me:pw", "HTTPS://shop.example.com",
		"https://zoö.example.com", "https://shop.example.com https://other.example.com", "https://shop.example.com\n",
		"capacitor://localhost/", "file://",
		"*", "https://*", "*://shop.example.com", "https://*.", "https://*example.com", "https://shop*.example.com", "https://shop-*.example.com",
		"https://shop.*.example.com", "https://shop.*", "https://*.example.com:*", "http://localhost:3*", "https://**.example.com",
	} {
		_, err := New(unusedService(), Options{AllowedOrigins: []string{"https://shop.example.com", origin}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("rest.New: Options.AllowedOrigins has %q", origin)) {
			t.Errorf("%q: got error %v", origin, err)
		}
	}
}

// When routes conflict, Gin cannot remove the routes that it has added before.
func TestMountServesAllRoutesOrNone(t *testing.T) {
	t.Parallel()
	complete, mounted, conflicts := gin.New(), newAPI(t, Options{}), map[string]string{}
	if err := mounted.Mount(complete.Group("/shop").Group("v1")); err != nil || mounted.BasePath() != "/shop/v1" {
		t.Errorf("got error %v and base path %s, want /shop/v1", err, mounted.BasePath())
	}
	if err := mounted.Mount(gin.New()); err == nil || !strings.Contains(err.Error(), "/shop/v1") {
		t.Errorf("second Mount: got error %v, want one that names /shop/v1", err)
	}
	hello := func(c *gin.Context) { c.String(http.StatusOK, "hello") }
	for _, path := range []string{
		"/", "/*any", "/:any", "/p", "/p:x", "/pets", "/pets/", "/petsy", "/pets:x", "/pets/*any", "/pets/x", "/pets/x:y", "/pets/:petId",
		"/pets/:id", "/pets/:petIds", "/pets/:petId/", "/pets/:petId/photos", "/pets/:petId/*any", "/pets/:id/photos", `/pets/\:x`, "/pets/x/*any",
		"/store", "/store/*any", "/store/:any", "/store/:any/:id", "/store/orders/:orderId/deliver", "/store/orders/:orderId/refund",
		"/store/orders/:id/deliver", "/store/orders/:orderId/*any", "/store/orders/:orderId/:what", "/store/orders/1/deliver", "/changes",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions, http.MethodDelete, "BREW"} {
			host, api := gin.New(), newAPI(t, Options{})
			host.RedirectTrailingSlash = false
			host.NoRoute(NotFound)
			host.Handle(method, path, hello)
			err := api.Mount(host)
			if err == nil {
				continue
			}
			conflicts[method] += path + " "
			isConflict := regexp.MustCompile("conflicts with|already registered").MatchString(err.Error())
			if !isConflict || !strings.HasPrefix(err.Error(), "rest: mount the API: ") {
				t.Errorf("%s %s: got the error %v, want the conflict", method, path, err)
			}
			for _, route := range complete.Routes() {
				w := httptest.NewRecorder()
				target := strings.NewReplacer("/shop/v1", "", ":petId", "1", ":orderId", "1").Replace(route.Path)
				host.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), route.Method, target, http.NoBody))
				if body := w.Body.String(); body != "hello" && w.Code != http.StatusNotFound || w.Header().Get("X-Request-Id") != "" {
					t.Errorf("%s %s of the host: %s %s got %d %s, want no response of the API", method, path, route.Method, target, w.Code, body)
				}
			}
			if err := api.Mount(gin.New()); err != nil {
				t.Errorf("Mount after a conflict: %v", err)
			}
		}
	}
	if len(conflicts) != 5 {
		t.Errorf("got conflicts %v, want some for GET, HEAD, POST, DELETE and OPTIONS alone", conflicts)
	}
}

// This test is not parallel, because other tests may change global state.
func TestAPIChangesNoGlobalState(t *testing.T) {
	globals := func() [5]any {
		families, err := prometheus.DefaultGatherer.Gather()
		return [...]any{gin.Mode(), ginbinding.Validator, zap.L(), prometheus.DefaultRegisterer, fmt.Sprint(len(families), err)}
	}
	before, engine, o, w := globals(), gin.New(), Options{}, httptest.NewRecorder()
	o.Metrics = prometheus.NewRegistry()
	err := newAPI(t, o).Mount(engine)
	engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pets", http.NoBody))
	if after := globals(); after != before || err != nil || w.Code != http.StatusUnauthorized {
		t.Errorf("got %v, error %v and a response with %d, want %v", after, err, w.Code, before)
	}
}

func TestAPILinksNoUnneededPackages(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./delivery/http", "./usecase", "./repository")
	list.Dir = "../.."
	linked, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	unwanted := regexp.MustCompile(`(?m)^(.*(swaggo|viper|cobra|otlptrace).*|testing)$`)
	if found := unwanted.FindAllString(string(linked), -1); found != nil {
		t.Errorf("the API links %q", found)
	}
}

// Without a registry, the series for each caller would only use memory.
func TestCallersAreNotCountedWithoutRegistry(t *testing.T) {
	t.Parallel()
	a := newAPI(t, Options{})
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/pets/1", http.NoBody)
	a.countByCaller(a.metrics.deprecated, c)
	series := make(chan prometheus.Metric, 10)
	if a.metrics.deprecated.Collect(series); len(series) != 0 {
		t.Errorf("got %d series, want none", len(series))
	}
}

// A query as in a Link header, or as people spell it, is looked up without parsing it.
func TestLikelyKeyIsTheKey(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                                  "limit=20",
		"limit=5&status=sold&after=20":      "limit=5&status=sold&after=20",
		"status=available":                  "limit=20&status=available",
		"limit=20&status=available":         "limit=20&status=available",
		"categoryId=7&sort=-id":             "limit=20&categoryId=7&sort=-id",
		"status=available%2Csold&q=r%26+ex": "limit=20&status=available%2Csold&q=r%26+ex",
	} {
		q, err := binding.Query[listPetsQuery](raw)
		if key, likely := q.key(), q.likelyKey(raw); err != nil || key != want || likely != want {
			t.Errorf("%s: got the key %s, likely %s, and the error %v, want %s", raw, key, likely, err, want)
		}
	}
	id := int64(7)
	testkit.Equal(t, "the key of an inventory", inventoryQuery{CategoryID: &id}.key(), inventoryQuery{}.likelyKey("categoryId=7"))
}

// A likely key is not the key of another query.
func FuzzLikelyKey(f *testing.F) {
	for _, raw := range []string{
		"", "limit=5", "status=sold", "id=7", "after=0", "Limit=5", "%6Cimit=5", "q=limit%3D5", "q=limit=5", "&", "after=3&sort=-id",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		likely := listPetsQuery{}.likelyKey(raw)
		if q, err := binding.Query[listPetsQuery](likely); err == nil && q.key() == likely {
			q, err := binding.Query[listPetsQuery](raw)
			testkit.Equal(t, "the key of "+raw, likely, q.key(), err)
		}
	})
}
