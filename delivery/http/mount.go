package http

import (
	"fmt"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

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
