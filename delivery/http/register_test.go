package http_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
)

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

func TestRegisterServesAllRoutesOrNone(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	api := s.api(t, defaultServices)
	complete := gin.New()
	if err := api.Register(complete); err != nil {
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
				engine := gin.New()
				engine.NoRoute(rest.NotFound)
				engine.Handle(taken.Method, prefix+taken.Path, hello)
				if err := api.Register(routerOf(engine)); err == nil || !strings.Contains(err.Error(), "mount the API: ") {
					t.Errorf("got error %v, want a conflict", err)
				}
				if routes := routesOf(engine); prefix == "" && len(routes) != 1 {
					t.Errorf("got routes %q, want one", routes)
				}
				served := *s
				served.start(t, engine)
				for _, route := range complete.Routes() {
					res, err := served.send(t.Context(), newRequest(route.Method, prefix+strings.ReplaceAll(route.Path, ":", "1")))
					if err != nil {
						t.Fatal(err)
					}
					if route.Method == taken.Method && route.Path == taken.Path {
						res.check(t, wantResponse{status: 200})
						continue
					}
					res.check(t, wantResponse{status: 404, header: []string{"-Deprecation", "-X-Request-Id"}})
					if route.Method != http.MethodHead {
						res.check(t, rejected(404, "not_found"))
					}
				}
				if err := api.Register(engine.Group("/elsewhere")); err != nil {
					t.Errorf("second registration: %v", err)
				}
			})
		}
	}
}

// Register itself checks the routes of an engine; Gin checks those of a group.
func TestRegisterDetectsSameConflictsAsGin(t *testing.T) {
	t.Parallel()
	api := newUnstartedServer(t).api(t, defaultServices)
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
			err, ginErr := api.Register(engine), api.Register(host.Group(""))
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

func TestRegisterRejectsSecondRegistration(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine := gin.New()
	api := s.api(t, defaultServices)
	if err := api.Register(engine.Group("/v1")); err != nil {
		t.Fatal(err)
	}
	if err := api.Register(engine.Group("/v1")); err == nil || !strings.Contains(err.Error(), "mount the API") {
		t.Errorf("got error %v, want a conflict", err)
	}
}
