package http

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"example.com/petstore/domain"
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

// HealthHandler returns check, a health check, as a handler of Gin. It ends a request with the error
// of check, as Fail does. A check that succeeds after one that succeeded is logged at the level debug.
func (a *API) HealthHandler(check func(*gin.Context) error) gin.HandlerFunc {
	var healthy atomic.Bool
	return a.ginHandler(func(c *gin.Context) error {
		state := stateOf(c)
		state.health = true
		err := check(c)
		if healthy.Swap(err == nil) && err == nil {
			state.level = zap.DebugLevel
		}
		return err
	})
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

// Mount mounts the API on an engine or on a group, once, and changes nothing outside it. GET
// routes also serve HEAD, and every path serves OPTIONS. The middleware of the host, such as one
// that signs its users in, runs before the Authenticator, but not for OPTIONS, because browsers
// send preflights without credentials: middleware of the group itself would reject them.
//
// Mount returns an error if the API is mounted, or if a route of the host, such as one of another
// API, conflicts with one of this API, which then serves no request. On an engine the conflicts
// are found before any route is mounted. The routes of a group are not known, and Gin cannot
// remove a route: those mounted before a conflict remain in Engine.Routes and in the Allow header
// of a 405. They return NotFound, after the middleware of the group, as does an engine whose
// NoRoute is NotFound.
func (a *API) Mount(r gin.IRouter, middleware ...gin.HandlerFunc) (err error) {
	if a.basePath != "" {
		return fmt.Errorf("rest: mount the API: it is mounted under %s", a.basePath)
	}
	defer func() {
		if conflict := recover(); conflict != nil { // Gin panics
			err = fmt.Errorf("rest: mount the API: %v", conflict)
		}
	}()
	mounted := false
	group := r.Group("", func(c *gin.Context) {
		if !mounted {
			NotFound(c)
		}
	})
	group.Use(a.Middleware()...)
	routes := a.routes(middleware)
	if host, ok := r.(interface{ Routes() gin.RoutesInfo }); ok {
		if err := checkRoutes(host.Routes(), group.BasePath(), routes); err != nil {
			return err
		}
	}
	for _, route := range routes {
		group.Handle(route.method, route.path, route.handlers...)
	}
	a.basePath, mounted = group.BasePath(), true
	return nil
}

// BasePath returns the path under which the API is mounted, such as /shop/v1, or "" before Mount.
func (a *API) BasePath() string { return a.basePath }

// checkRoutes returns an error if one of the routes, mounted under prefix, conflicts with a
// route of the host.
func checkRoutes(host gin.RoutesInfo, prefix string, routes []route) error {
	for _, existing := range host {
		for _, added := range routes {
			full := path.Join(prefix, added.path)
			if existing.Method == added.method && conflicting(existing.Path, full) {
				return fmt.Errorf("rest: mount the API: %s %s conflicts with %s of the host", added.method, full, existing.Path)
			}
		}
	}
	return nil
}

// conflicting reports whether Gin panics if both paths are added for one method: they are
// equal, or the first segments that differ are two parameters or include a catch-all.
func conflicting(a, b string) bool {
	left, right := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(left), len(right)) {
		if l, r := left[i], right[i]; l != r {
			return strings.HasPrefix(l, "*") || strings.HasPrefix(r, "*") || strings.HasPrefix(l, ":") && strings.HasPrefix(r, ":")
		}
	}
	return len(left) == len(right)
}

// getPetPath is the path of getPet, the deprecated operation.
const getPetPath = "/pets/:petId"

var (
	deprecation = []string{fmt.Sprintf("@%d", domain.GetPetDeprecation.Unix())}
	sunset      = []string{domain.GetPetSunset.Format(http.TimeFormat)}
	successor   = []string{`<../pets>; rel="successor-version"`}
)

// setDeprecationHeaders sets the headers of every response of getPet's route: Deprecation
// (RFC 9745), Sunset (RFC 8594) and Link to the successor.
func setDeprecationHeaders(c *gin.Context) {
	header := c.Writer.Header()
	header["Deprecation"], header["Sunset"], header["Link"] = deprecation, sunset, successor
}

// MarkDeprecated sets the headers of getPet's route if the path of a request is that of getPet.
// The routes of the API set them themselves, but Gin handles a method that a path does not have
// with the NoMethod handlers of the engine, which need this handler first:
//
//	engine.NoMethod(api.MarkDeprecated, rest.MethodNotAllowed)
func (a *API) MarkDeprecated(c *gin.Context) {
	template, u := path.Join(a.basePath, getPetPath), c.Request.URL
	if matchesTemplate(template, u.Path) || matchesTemplate(template, u.EscapedPath()) {
		setDeprecationHeaders(c)
	}
}

// matchesTemplate reports whether a path matches the template of a route in Gin's syntax.
func matchesTemplate(template, path string) bool {
	return slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), func(want, got string) bool {
		literal, _, parameter := strings.Cut(want, ":")
		if parameter {
			return strings.HasPrefix(got, literal) && len(got) > len(literal)
		}
		return got == literal
	})
}

// rejectAfterSunset ends a request with an errGone from the sunset on.
func (a *API) rejectAfterSunset(c *gin.Context) {
	if a.now().Before(domain.GetPetSunset) {
		return
	}
	a.Fail(c, &domain.Error{
		Kind: errGone, Code: codeOperationRemoved,
		Message: "this operation was removed on " + domain.GetPetSunset.Format(time.DateOnly) + ": list the pets with limit=1 and after one below the id",
	})
}
