package http

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// A handler writes the response to a request, or returns the error to respond with.
type handler func(c *gin.Context) error

// An operation is a method of a path. An operation with GET also serves HEAD.
type operation struct {
	method, path string
	handler      handler
	scope        apikey.Scope // the scope that an API key needs
	deprecated   bool         // the operation will be removed
}

// operations returns all operations of the API.
func (a *API) operations() []operation {
	return []operation{
		{http.MethodGet, "/pets", a.listPets, apikey.PetsRead, false},
		{http.MethodPost, "/pets", a.createPet, apikey.PetsWrite, false},
		{http.MethodPost, batchPath, a.createPets, apikey.PetsWrite, false},
		{http.MethodGet, "/pets/:petId", a.getPet, apikey.PetsRead, true},
		{http.MethodPatch, "/pets/:petId", a.updatePet, apikey.PetsWrite, false},
		{http.MethodDelete, "/pets/:petId", a.deletePet, apikey.PetsWrite, false},
		{http.MethodGet, "/store/inventory", a.getInventory, apikey.PetsRead, false},
		{http.MethodGet, "/store/orders", a.listOrders, apikey.OrdersRead, false},
		{http.MethodPost, "/store/orders", a.placeOrder, apikey.OrdersWrite, false},
		{http.MethodGet, "/store/orders/:orderId", a.getOrder, apikey.OrdersRead, false},
		{http.MethodPost, "/store/orders/:orderId/deliver", a.deliverOrder, apikey.OrdersWrite, false},
		{http.MethodPost, "/store/orders/:orderId/cancel", a.cancelOrder, apikey.OrdersWrite, false},
		{http.MethodGet, "/categories", a.listCategories, apikey.PetsRead, false},
		{http.MethodDelete, "/categories/:categoryId", a.deleteCategory, apikey.PetsWrite, false},
		{http.MethodPut, "/categories/:categoryId", a.putCategory, apikey.PetsWrite, false},
		{http.MethodGet, "/changes", a.listChanges, apikey.ChangesRead, false},
	}
}

const batchPath = "/pets/batch"

// mount adds the routes of the operations, which run the middleware of the host before admit. It also adds OPTIONS for
// each path, without the middleware of the host.
func (a *API) mount(r gin.IRoutes, middleware []gin.HandlerFunc) {
	methods := map[string][]string{} // by path
	for _, o := range a.operations() {
		served := []string{o.method}
		if o.method == http.MethodGet {
			served = append(served, http.MethodHead)
		}
		methods[o.path] = append(methods[o.path], served...)
		handlers := append(slices.Clone(middleware), a.admit(o.scope), a.ginHandler(o.handler))
		if o.deprecated {
			handlers = slices.Insert(handlers, 0, deprecate)
		}
		r.Match(served, o.path, handlers...)
	}
	for path, served := range methods {
		r.OPTIONS(path, ServeOptions(served...))
	}
	others := slices.DeleteFunc(slices.Clone(knownMethods), func(method string) bool {
		return method == http.MethodPost || method == http.MethodOptions
	})
	r.Match(others, batchPath, func(c *gin.Context) { // otherwise Gin would take batch for a petId
		c.Header("Allow", "POST, OPTIONS")
		MethodNotAllowed(c)
	})
}

// HealthHandler returns a handler of Gin for a health check. If check returns an error, the handler ends the request as
// Fail does. The access log has a successful check at the level info if it is the first one or the previous check
// failed, and otherwise at the level debug.
func (a *API) HealthHandler(check func(*gin.Context) error) gin.HandlerFunc {
	var healthy atomic.Bool
	return a.ginHandler(func(c *gin.Context) error {
		err := check(c)
		if healthy.Swap(err == nil) && err == nil {
			stateOf(c).level = zap.DebugLevel
		}
		return err
	})
}

// ginHandler returns h as a handler of Gin. If h returns an error, the handler ends the request as Fail does.
func (a *API) ginHandler(h handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			a.Fail(c, err)
		}
	}
}

// ServeOptions returns a handler for OPTIONS of a path with these methods. It sends them and OPTIONS in the
// header Allow (RFC 9110, section 9.3.7), and with PATCH the media types of a correction in Accept-Patch.
func ServeOptions(methods ...string) gin.HandlerFunc {
	allow := strings.Join(append(methods, http.MethodOptions), ", ")
	return func(c *gin.Context) {
		c.Header("Allow", allow)
		if slices.Contains(methods, http.MethodPatch) {
			c.Header("Accept-Patch", acceptPatch)
		}
		c.Status(http.StatusNoContent)
	}
}

// Mount mounts the API on an engine or on a group, once, and changes nothing outside it. GET routes also serve HEAD, and
// every path serves OPTIONS. middleware belongs to the host, for example to sign its users in. It runs before the
// Authenticator, but not for OPTIONS: browsers send preflights without credentials, which middleware of the group itself
// would reject.
//
// Mount returns an error if the API is mounted already, or if one of its routes conflicts with a route of the host or of
// another API. After a conflict, the API serves no request. Gin cannot remove the routes that were mounted before the
// conflict. They remain in Engine.Routes and in the Allow header of a 405; requests to them run the middleware of the
// group and get the response of NotFound.
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
	a.mount(group, middleware)
	a.basePath, mounted = group.BasePath(), true
	return nil
}

// BasePath returns the path under which the API is mounted, such as /shop/v1, or "" before Mount.
func (a *API) BasePath() string { return a.basePath }

var (
	deprecation = []string{fmt.Sprintf("@%d", domain.GetPetDeprecation.Unix())}
	sunset      = []string{domain.GetPetSunset.Format(http.TimeFormat)}
)

// deprecate sets the headers of every response of getPet: Deprecation (RFC 9745), Sunset (RFC 8594) and
// Link to the successor.
func deprecate(c *gin.Context) {
	stateOf(c).deprecated = true
	header := c.Writer.Header()
	header["Deprecation"], header["Sunset"] = deprecation, sunset
	id := c.Params[len(c.Params)-1].Value // the last parameter, because the prefix of a host may have parameters, too
	header["Link"] = []string{"<../pets?id=" + url.QueryEscape(id) + `>; rel="successor-version"`}
}
