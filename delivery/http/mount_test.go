package http_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/binding"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/viper"
	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
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
