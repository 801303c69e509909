package http

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// A handler writes the response to a request, or returns the error to respond with.
type handler func(c *gin.Context) error

// A resource is a path with its methods.
type resource struct {
	path       string
	get, post  handler
	deprecated bool
}

// resources returns all paths of the API.
func (a *API) resources() []resource {
	return []resource{
		{path: "/pets", get: a.listPets, post: a.createPet},
		{path: getPetPath, get: a.getPet, deprecated: true},
		{path: "/store/orders", get: a.listOrders, post: a.placeOrder},
		{path: "/store/orders/:orderId", get: a.getOrder},
		{path: "/store/orders/:orderId/deliver", post: a.deliverOrder},
		{path: "/store/orders/:orderId/cancel", post: a.cancelOrder},
		{path: "/changes", get: a.listChanges},
	}
}

// A route is one method of a path.
type route struct {
	method, path string
	handlers     []gin.HandlerFunc
}

// routes returns the routes that Mount mounts, with the middleware of the host.
func (a *API) routes(middleware []gin.HandlerFunc) []route {
	var routes []route
	for _, resource := range a.resources() {
		var common []gin.HandlerFunc // of all methods, OPTIONS included
		if resource.deprecated {
			common = append(common, setDeprecationHeaders)
		}
		checks := append(slices.Concat(common, middleware), a.authenticate)
		if resource.deprecated {
			checks = append(checks, a.countDeprecated)
		}
		if a.limits != nil {
			checks = append(checks, a.limitRate)
		}
		checks = append(checks, a.rejectForbidden)
		if resource.deprecated {
			checks = append(checks, a.rejectAfterSunset)
		}
		var methods []string
		add := func(method string, before []gin.HandlerFunc, last gin.HandlerFunc) {
			methods = append(methods, method)
			routes = append(routes, route{method, resource.path, append(slices.Clip(before), last)})
		}
		if resource.get != nil {
			add(http.MethodGet, checks, a.ginHandler(resource.get))
			add(http.MethodHead, checks, a.ginHandler(resource.get))
		}
		if resource.post != nil {
			add(http.MethodPost, checks, a.ginHandler(resource.post))
		}
		add(http.MethodOptions, common, serveOptions(methods))
	}
	return routes
}

// HealthHandler returns h, which checks the store, as a handler of Gin. It ends a request with
// the error of h, as Fail does.
func (a *API) HealthHandler(h func(*gin.Context) error) gin.HandlerFunc {
	handle := a.ginHandler(h)
	return func(c *gin.Context) {
		stateOf(c).health = true
		handle(c)
	}
}

// ginHandler returns h as a handler of Gin, which ends a request with the error of h.
func (a *API) ginHandler(h handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			a.Fail(c, err)
			return
		}
		a.logAvailable(c)
	}
}

// serveOptions returns a handler that sends the methods of a path and OPTIONS in the header
// Allow (RFC 9110, section 9.3.7).
func serveOptions(methods []string) gin.HandlerFunc {
	allow := strings.Join(append(methods, http.MethodOptions), ", ")
	return func(c *gin.Context) {
		c.Header("Allow", allow)
		c.Status(http.StatusNoContent)
	}
}
