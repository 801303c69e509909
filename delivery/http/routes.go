package http

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// A handler answers a request, or returns the error that is to be answered.
type handler func(c *gin.Context) error

// A resource is a path with the methods that it offers.
type resource struct {
	path       string
	get, post  handler
	deprecated bool
}

// resources are all paths of the API.
func (a *API) resources() []resource {
	return []resource{
		{path: "/pets", get: a.listPets, post: a.createPet},
		{path: getPetPath, get: a.getPet, deprecated: true},
		{path: "/store/orders", get: a.listOrders, post: a.placeOrder},
		{path: "/store/orders/:orderId", get: a.getOrder},
		{path: "/store/orders/:orderId/deliver", post: a.deliverOrder},
		{path: "/store/orders/:orderId/cancel", post: a.cancelOrder},
	}
}

// A route is one method of a path.
type route struct {
	method, path string
	handlers     []gin.HandlerFunc
}

// routes returns what Register mounts.
func (a *API) routes() []route {
	var all []route
	for _, resource := range a.resources() {
		var before []gin.HandlerFunc
		if resource.deprecated {
			before = append(before, a.setDeprecationHeaders())
		}
		operation := append(slices.Clip(before), a.identify)
		if resource.deprecated {
			operation = append(operation, a.countDeprecated)
		}
		if a.limits != nil {
			operation = append(operation, a.limitRate)
		}
		if resource.deprecated {
			operation = append(operation, a.rejectAfterSunset)
		}
		var allow []string
		add := func(method string, handlers []gin.HandlerFunc, last gin.HandlerFunc) {
			allow = append(allow, method)
			all = append(all, route{method, resource.path, append(slices.Clip(handlers), last)})
		}
		if resource.get != nil {
			add(http.MethodGet, operation, a.serve(resource.get))
			add(http.MethodHead, operation, a.serve(resource.get))
		}
		if resource.post != nil {
			add(http.MethodPost, operation, a.serve(resource.post))
		}
		add(http.MethodOptions, before, options(allow))
	}
	return all
}

// serve makes a handler one of Gin's.
func (a *API) serve(h handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			a.Fail(c, err)
		}
	}
}

// options tells the methods of a path (RFC 9110, section 9.3.7).
func options(methods []string) gin.HandlerFunc {
	allow := strings.Join(append(methods, http.MethodOptions), ", ")
	return func(c *gin.Context) {
		c.Header("Allow", allow)
		c.Status(http.StatusNoContent)
	}
}
