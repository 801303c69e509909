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

// registered are the routes of an engine, each as "METHOD path".
func registered(engine *gin.Engine) (routes []string) {
	for _, route := range engine.Routes() {
		routes = append(routes, route.Method+" "+route.Path)
	}
	slices.Sort(routes)
	return routes
}

// hello is the host's own handler.
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
					t.Errorf("got the error %v", err)
				}
				if routes := registered(engine); prefix == "" && len(routes) != 1 {
					t.Errorf("the engine has the routes %q", routes)
				}
				served := *s
				served.listen(t, engine)
				for _, route := range complete.Routes() {
					a, err := served.send(t.Context(), send(route.Method, prefix+strings.ReplaceAll(route.Path, ":", "1")))
					if err != nil {
						t.Fatal(err)
					}
					if route.Method == taken.Method && route.Path == taken.Path {
						a.check(t, want{status: 200})
						continue
					}
					a.check(t, want{status: 404, header: []string{"-Deprecation", "-X-Request-Id"}})
					if route.Method != http.MethodHead {
						a.check(t, refused(404, "not_found"))
					}
				}
				if err := api.Register(engine.Group("/elsewhere")); err != nil {
					t.Errorf("elsewhere: %v", err)
				}
			})
		}
	}
}

// Register finds the conflicts of an engine itself, Gin those of a group.
func TestRegisterFindsTheConflictsThatGinFinds(t *testing.T) {
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
			ours, gins := gin.New(), gin.New()
			ours.Handle(method, path, hello)
			gins.Handle(method, path, hello)
			err, conflict := api.Register(ours), api.Register(gins.Group(""))
			if (err == nil) != (conflict == nil) {
				t.Errorf("%s %s: the error is %v on an engine and %v on a group", method, path, err, conflict)
			}
			if err == nil {
				continue
			}
			conflicts[method] += path + " "
			if diff := cmp.Diff([]string{method + " " + path}, registered(ours)); diff != "" {
				t.Errorf("routes after the error (-want +got):\n%s", diff)
			}
		}
	}
	if len(conflicts) != 3 {
		t.Errorf("conflicts were found for %v, want GET, POST and OPTIONS", conflicts)
	}
}
