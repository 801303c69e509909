package http_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/binding"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/viper"
	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
)

// newMountedServer returns a server whose API is mounted under a prefix of a host's engine.
func newMountedServer(t *testing.T, prefix string, options ...option) *testServer {
	t.Helper()
	s := newUnstartedServer(t)
	s.prefix = prefix
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.GET("/hello", hello)
	engine.NoRoute(rest.NotFound)
	api := s.api(t, options...)
	engine.NoMethod(api.MarkDeprecated, rest.MethodNotAllowed)
	s.startHost(t, engine, api)
	s.host = engine
	return s
}

func TestLinksResolveUnderAnyPrefix(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "/v1", "/shop/v1", "/a/b/c/d", "/pets"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			s := newMountedServer(t, prefix)
			for id := 1; id <= 5; id++ {
				pet := fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, id)
				res := s.expect(t, request{method: "POST", path: prefix + "/pets", body: newRex}, created(pet))
				location, err := res.Location()
				if err != nil || location.Path != fmt.Sprintf("%s/pets/%d", prefix, id) {
					t.Fatalf("got location %v and error %v, want %s/pets/%d", location, err, prefix, id)
				}
				res = s.expect(t, get(location.Path), ok(pet))
				if successor := res.link(t, "successor-version"); successor != prefix+"/pets" {
					t.Errorf("got successor %q, want %s/pets", successor, prefix)
				}
			}
			res := s.expect(t, get(prefix+"/pets?limit=2"), ok(""))
			if next, want := res.link(t, "next"), prefix+"/pets?limit=2&after=2"; next != want {
				t.Errorf("got the next page %q, want %s", next, want)
			}
		})
	}
}

// With UseRawPath, an encoded slash in the prefix of the host is not one of the API's path.
func TestPrefixMayContainEncodedSlash(t *testing.T) {
	t.Parallel()
	s, engine := newUnstartedServer(t), gin.New()
	engine.UseRawPath = true
	s.prefix = "/teams/:team"
	s.startHost(t, engine, s.api(t))
	s.prefix = "/teams/a%2Fb"
	s.expect(t, get("/teams/a%2Fb/pets"), ok(`[]`))
}

func TestMountedAPILeavesHostRoutesUnchanged(t *testing.T) {
	t.Parallel()
	s := newMountedServer(t, "/shop/v1")
	res := s.expectOnly(t, get("/hello"), wantResponse{status: 200}.withHeader("-X-Request-Id", "-Cache-Control", "-X-Content-Type-Options"))
	if string(res.body) != "hello" || len(s.log.All()) != 0 {
		t.Errorf("got body %q and log %v, want hello and no log", res.body, s.log.All())
	}
	for _, r := range []request{get("/shop/v1/nothing"), get("/livez"), newRequest("DELETE", "/shop/v1/pets"), get("/v1/pets")} {
		s.expectOnly(t, r, wantResponse{}.withoutText("hello")).checkBody(t)
	}
}

// routesOf returns the routes of an engine, each as "METHOD path", in order.
func routesOf(engine *gin.Engine) (routes []string) {
	for _, route := range engine.Routes() {
		routes = append(routes, route.Method+" "+route.Path)
	}
	slices.Sort(routes)
	return routes
}

// hello is a handler of the host.
func hello(c *gin.Context) { c.String(http.StatusOK, "hello") }

func TestMountServesAllRoutesOrNone(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	complete := gin.New()
	if err := s.api(t).Mount(complete); err != nil {
		t.Fatal(err)
	}
	for prefix, routerOf := range map[string]func(*gin.Engine) gin.IRouter{
		"":         func(e *gin.Engine) gin.IRouter { return e },
		"/v1":      func(e *gin.Engine) gin.IRouter { return e.Group("/v1") },
		"/shop/v1": func(e *gin.Engine) gin.IRouter { return e.Group("/shop").Group("/v1") },
	} {
		for _, taken := range complete.Routes() {
			t.Run(taken.Method+" "+prefix+taken.Path, func(t *testing.T) {
				t.Parallel()
				api, engine := s.api(t), gin.New()
				engine.NoRoute(rest.NotFound)
				engine.Handle(taken.Method, prefix+taken.Path, hello)
				if err := api.Mount(routerOf(engine)); err == nil || !strings.Contains(err.Error(), "mount the API: ") {
					t.Errorf("got error %v, want a conflict", err)
				}
				if routes := routesOf(engine); prefix == "" && len(routes) != 1 {
					t.Errorf("got routes %q, want one", routes)
				}
				for _, route := range complete.Routes() {
					w, want := httptest.NewRecorder(), http.StatusNotFound
					if route.Method == taken.Method && route.Path == taken.Path {
						want = http.StatusOK
					}
					engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), route.Method, prefix+strings.ReplaceAll(route.Path, ":", "1"), http.NoBody))
					if w.Code != want || w.Header().Get("X-Request-Id") != "" {
						t.Errorf("%s %s: got status %d and header %v, want %d and no header of the API", route.Method, route.Path, w.Code, w.Header(), want)
					}
				}
				if err := api.Mount(engine.Group("/elsewhere")); err != nil {
					t.Errorf("second Mount: %v", err)
				}
			})
		}
	}
}

// Mount itself checks the routes of an engine; Gin checks those of a group.
func TestMountDetectsSameConflictsAsGin(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	conflicts := map[string]string{}
	for _, path := range []string{
		"/", "/*any", "/:any", "/p", "/p:x", "/pets", "/pets/", "/petsy", "/pets:x", "/pets/*any", "/pets/x", "/pets/x:y", "/pets/:petId",
		"/pets/:id", "/pets/:petIds", "/pets/:petId/", "/pets/:petId/photos", "/pets/:petId/*any", "/pets/:id/photos", `/pets/\:x`, "/pets/x/*any",
		"/store", "/store/*any", "/store/:any", "/store/:any/:id", "/store/orders/:orderId/deliver", "/store/orders/:orderId/refund",
		"/store/orders/:id/deliver", "/store/orders/:orderId/*any", "/store/orders/:orderId/:what", "/store/orders/1/deliver",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions, http.MethodDelete} {
			engine, host := gin.New(), gin.New()
			engine.Handle(method, path, hello)
			host.Handle(method, path, hello)
			err, ginErr := s.api(t).Mount(engine), s.api(t).Mount(host.Group(""))
			if (err == nil) != (ginErr == nil) {
				t.Errorf("%s %s: got error %v on an engine and %v on a group", method, path, err, ginErr)
			}
			if err == nil {
				continue
			}
			conflicts[method] += path + " "
			if diff := cmp.Diff([]string{method + " " + path}, routesOf(engine)); diff != "" {
				t.Errorf("routes after the error (-want +got):\n%s", diff)
			}
		}
	}
	if len(conflicts) != 3 {
		t.Errorf("got conflicts %v, want some for GET, POST and OPTIONS alone", conflicts)
	}
}

func TestMountRejectsSecondMount(t *testing.T) {
	t.Parallel()
	api, engine := newUnstartedServer(t).api(t), gin.New()
	if got := api.BasePath(); got != "" {
		t.Errorf("before Mount: got base path %q", got)
	}
	if err := api.Mount(engine.Group("/shop").Group("v1")); err != nil {
		t.Fatal(err)
	}
	if got := api.BasePath(); got != "/shop/v1" {
		t.Errorf("got base path %q, want /shop/v1", got)
	}
	if err := api.Mount(engine.Group("/elsewhere")); err == nil || !strings.Contains(err.Error(), "/shop/v1") {
		t.Errorf("got error %v, want one that names /shop/v1", err)
	}
}

// A browser sends a preflight without credentials and ignores a response without CORS headers.
func TestMiddlewareOfHostRunsWithinTheAPI(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	signIn := func(c *gin.Context) {
		if c.GetHeader("From") == "" {
			c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "sign in first"})
		}
		c.Set("user", c.GetHeader("From"))
	}
	api := s.api(t, withAllowedOrigins("https://shop.example.com"),
		withAuthenticator(func(c *gin.Context) (string, error) { return c.GetString("user"), nil }))
	s.startHost(t, gin.New(), api, signIn)
	for _, path := range []string{"/v1/pets", "/v1/pets/1", "/v1/store/orders/1/deliver"} {
		preflight := newRequest("OPTIONS", path, "-Authorization", allowedOrigin, "Access-Control-Request-Method: GET", requestHeaders)
		s.expect(t, preflight, wantResponse{status: 204}.withHeader(originAllowed, "Access-Control-Allow-Methods: GET"))
	}
	res := s.expectOnly(t, get("/v1/pets/1", allowedOrigin), wantResponse{status: 401}.withHeader(append(slices.Clip(deprecationHeaders), originAllowed)...))
	if string(res.body) != `{"error":"sign in first"}` {
		t.Errorf("got body %s, want that of the host", res.body)
	}
	s.expectOnly(t, get("/v1/pets", "From: ann"), ok(`[]`))
	lines := s.accessLog(t)
	if last := lines[len(lines)-1]; len(lines) != 5 || last["caller"] != "ann" {
		t.Errorf("got access log %v, want 5 lines and caller ann in the last", lines)
	}
}

// Not parallel: other tests may change global state.
func TestAPIChangesNoGlobalState(t *testing.T) {
	type globals struct {
		mode      string
		validator binding.StructValidator
		logger    *zap.Logger
		registry  prometheus.Registerer
		settings  int
		metrics   int
	}
	readGlobals := func() globals {
		families, err := prometheus.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return globals{gin.Mode(), binding.Validator, zap.L(), prometheus.DefaultRegisterer, len(viper.AllKeys()), len(families)}
	}
	before := readGlobals()
	s := newTestServer(t, withMetrics(prometheus.NewRegistry()))
	s.expect(t, get("/v1/pets"), ok(`[]`))
	if after := readGlobals(); after != before {
		t.Errorf("got %+v, want %+v", after, before)
	}
}

func TestAPILinksNoUnneededPackages(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./delivery/http", "./usecase", "./repository")
	list.Dir = filepath.Join("..", "..")
	linked, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"swaggo", "viper", "cobra", "otlptrace", "example.com/petstore/config", "example.com/petstore/docs", "testing"} {
		for path := range strings.Lines(string(linked)) {
			if path = strings.TrimSpace(path); strings.Contains(path, unwanted) && path != "testing/iotest" {
				t.Errorf("the API links %s", path)
			}
		}
	}
}

func TestNewChecksItsOptions(t *testing.T) {
	t.Parallel()
	all := newUnstartedServer(t).options()
	for want, changes := range map[string][]option{
		"": {
			func(*rest.Options) {},
			func(o *rest.Options) {
				o.Keys, o.Authenticate = nil, func(*gin.Context) (string, error) { return "caller", nil }
			},
			func(o *rest.Options) { *o = rest.Options{Pets: all.Pets, Orders: all.Orders, Keys: all.Keys} },
			withAllowedOrigins("*", "https://*.example.com", "http://[::1]:3000", "http://localhost:*"),
			withRateLimit(0, 0), withRateLimit(0, -time.Second), withRateLimit(1, time.Second), withRateLimit(1, 24*time.Hour),
			withRateLimit(1, math.MaxInt64/time.Second*time.Second), withRateLimit(999_999_999_999_999, time.Second),
		},
		"rest.New: ": {
			func(o *rest.Options) { *o = rest.Options{} },
			func(o *rest.Options) { o.Pets = nil },
			func(o *rest.Options) { o.Orders = nil },
			func(o *rest.Options) { o.Keys = nil },
		},
		"rest.New: Options.RequestTimeout ": {withRequestTimeout(-1)},
		"rest.New: Options.CacheBytes ":     {func(o *rest.Options) { o.Versions = nil }},
		"rest.New: Options.RateLimit has ": {
			withRateLimit(1_000_000_000_000_000, 24*time.Hour), withRateLimit(math.MaxInt, time.Second),
			withRateLimit(-1, time.Minute), withRateLimit(math.MinInt, time.Minute), withRateLimit(1, 0), withRateLimit(1, -time.Minute),
			withRateLimit(1, time.Nanosecond), withRateLimit(1, time.Second-1), withRateLimit(1, time.Second+1),
			withRateLimit(1, 1500*time.Millisecond), withRateLimit(1, math.MaxInt64),
		},
	} {
		for i, change := range changes {
			o := all
			change(&o)
			api, err := rest.New(o)
			if (err == nil) != (want == "") || (api != nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("options %d of %q: got API %v and error %v", i, want, api, err)
			}
		}
	}
	for _, origin := range []string{"", "null", "shop.example.com", "//shop.example.com", "https://", "https://shop.example.com/", "https://shop.example.com/shop", "https://me@shop.example.com", "https://shop.example.com?a", "https://*.*.example.com", ":"} {
		all.AllowedOrigins = []string{"https://shop.example.com", origin}
		_, err := rest.New(all)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("rest.New: Options.AllowedOrigins has %q", origin)) {
			t.Errorf("%q: got error %v", origin, err)
		}
	}
}

func TestShutdownClosesConnectionsAfterTimeout(t *testing.T) {
	t.Parallel()
	pets, s := newBlockingGet(), newUnstartedServer(t)
	timeouts := longTimeouts
	timeouts.Shutdown = 50 * time.Millisecond
	stop, served := s.serveUntil(t, s.engine(t, nil, withGet(pets.get)), timeouts)
	failed := make(chan bool, 1)
	go func() {
		res, err := s.send(t.Context(), get("/v1/pets/42"))
		failed <- err != nil || res.StatusCode == http.StatusServiceUnavailable
	}()
	<-pets.started
	stop()
	if err := <-served; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve returned %v, want %v", err, context.DeadlineExceeded)
	}
	if !<-failed {
		t.Error("the running request did not fail")
	}
	if line := s.waitForAccessLog(t); line["status"] != int64(http.StatusServiceUnavailable) {
		t.Errorf("got the access log %v, want the status 503", line)
	}
}

func TestReadinessFailsWhileDraining(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, method := range []string{"GET", "HEAD"} {
		s.expect(t, newRequest(method, "/readyz", "-Authorization"), wantResponse{status: 200})
	}
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.health.Drain()
	s.expect(t, get("/readyz"), rejected(503, "unavailable").withHeader("Retry-After: 1"))
	s.expect(t, newRequest("HEAD", "/readyz"), wantResponse{status: 503}.withHeader("Retry-After: 1"))
	s.expect(t, get("/livez", "-Authorization"), ok(`{"status":"alive"}`))
	s.expect(t, newRequest("HEAD", "/livez", "-Authorization"), wantResponse{status: 200})
	s.expect(t, get("/v1/pets"), ok(`[]`))
	if got := s.log.FilterLevelExact(zap.ErrorLevel).Len(); got != 0 {
		t.Errorf("got %d failures in the log, want none", got)
	}
}

func TestStartupHandlerIsUnavailableUntilReady(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	startup, err := server.NewStartupHandler(nil, rest.Options{Logger: s.logger})
	if err != nil {
		t.Fatal(err)
	}
	s.start(t, startup)
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
	for _, r := range []request{get("/readyz"), get("/v1/pets"), get("/v1/pets", "-Authorization"), postPet(`{"name":"Rex"}`), get("/nowhere"), newRequest(http.MethodDelete, "/livez")} {
		s.expect(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1"))
	}
	s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable").withHeader(deprecationHeaders...))
	startup.SetHandler(s.engine(t, nil))
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestStartupHandlerSendsCORSHeaders(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	startup, err := server.NewStartupHandler(nil, rest.Options{AllowedOrigins: []string{"https://shop.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	s.start(t, startup)
	for _, r := range []request{get("/v1/pets", allowedOrigin), newRequest(http.MethodPost, "/v1/store/orders", allowedOrigin), get("/nowhere", allowedOrigin)} {
		s.expectOnly(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1", originAllowed, "Vary: Origin"))
	}
	s.expectOnly(t, get("/v1/pets", otherOrigin), rejected(503, "unavailable").withHeader(originNotAllowed))
	// A browser sends the request only if the preflight has a 2xx status (Fetch, section 4.8).
	s.expectOnly(t, newRequest(http.MethodOptions, "/v1/pets", "-Authorization", allowedOrigin, requestMethodPost, requestHeaders), wantResponse{status: 204}.withHeader(
		originAllowed, "Access-Control-Allow-Methods: POST", "Access-Control-Allow-Headers: authorization,content-type,idempotency-key", "Access-Control-Max-Age: 600",
	))
}

func TestForwardedAddressIsUsedOnlyFromTrustedProxies(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	for name, newHandler := range map[string]func(proxy string) (http.Handler, error){
		"service": func(proxy string) (http.Handler, error) { return server.NewEngine(s.api(t), s.health, []string{proxy}) },
		"startup": func(proxy string) (http.Handler, error) {
			return server.NewStartupHandler([]string{proxy}, rest.Options{Logger: s.logger})
		},
	} {
		for proxy, client := range map[string]string{"127.0.0.1": "203.0.113.9", "127.0.0.0/8": "203.0.113.9", "10.0.0.1": "127.0.0.1"} {
			s.log.TakeAll()
			handler, err := newHandler(proxy)
			if err != nil {
				t.Fatal(err)
			}
			s.start(t, handler)
			s.expect(t, get("/v1/pets", "X-Forwarded-For: 203.0.113.9"), wantResponse{})
			if line := s.accessLog(t)[0]; line["client"] != client {
				t.Errorf("%s, proxy %s: got client %v, want %s", name, proxy, line["client"], client)
			}
		}
		if _, err := newHandler("proxy.example"); err == nil {
			t.Errorf("%s: got no error for a proxy that is neither an address nor a network", name)
		}
	}
}
