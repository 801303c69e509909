package http

import (
	"fmt"
	"net/http"
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

// resources are all routes of the API.
func (a *API) resources() []resource {
	return []resource{
		{path: "/pets", get: a.listPets, post: a.createPet},
		{path: "/pets/:petId", get: a.getPet, deprecated: true},
		{path: "/store/orders", get: a.listOrders, post: a.placeOrder},
		{path: "/store/orders/:orderId", get: a.getOrder},
		{path: "/store/orders/:orderId/deliver", post: a.deliverOrder},
		{path: "/store/orders/:orderId/cancel", post: a.cancelOrder},
	}
}

// Register mounts the API on a group of a Gin engine and touches nothing outside
// it. GET routes answer HEAD, too, and every path answers OPTIONS. It fails where
// routes of the engine are in the way, such as those of an API mounted before.
func (a *API) Register(r gin.IRouter) (err error) {
	defer func() {
		if conflict := recover(); conflict != nil { // Gin's only way to tell
			err = fmt.Errorf("rest: mount the API: %v", conflict)
		}
	}()
	group := r.Group("", a.middleware()...)
	for _, resource := range a.resources() {
		var before []gin.HandlerFunc
		if resource.deprecated {
			before = append(before, a.announceRemoval())
		}
		operation := append(before[:len(before):len(before)], a.identify)
		if resource.deprecated {
			operation = append(operation, a.countDeprecated)
		}
		if a.limits != nil {
			operation = append(operation, a.limitRate)
		}
		if resource.deprecated {
			operation = append(operation, a.refuseRemoved)
		}
		var allow []string
		if resource.get != nil {
			allow = append(allow, http.MethodGet, http.MethodHead)
			group.Match(allow, resource.path, append(operation, a.serve(resource.get))...)
		}
		if resource.post != nil {
			allow = append(allow, http.MethodPost)
			group.POST(resource.path, append(operation, a.serve(resource.post))...)
		}
		group.OPTIONS(resource.path, append(before, options(allow))...)
	}
	return nil
}

// serve makes a handler one of Gin's.
func (a *API) serve(h handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			a.fail(c, err)
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
