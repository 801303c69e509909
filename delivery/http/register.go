package http

import (
	"fmt"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

// Register mounts the API on an engine or on a group of one and touches nothing outside
// it. GET routes serve HEAD, too, and every path serves OPTIONS. Register returns an error
// when a route of the host conflicts with one of the API, such as that of an API mounted
// before. Then none of its routes serves a request.
//
// The routes of an engine are checked first, and after an error the engine is as it was.
// Those of a group are not known, and Gin cannot remove a route: those mounted before the
// conflict remain, in Engine.Routes and in the Allow of a 405. They return NotFound, after
// the group's own middleware, as an engine does whose NoRoute is NotFound.
func (a *API) Register(r gin.IRouter) (err error) {
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
	routes := a.routes()
	if host, ok := r.(interface{ Routes() gin.RoutesInfo }); ok {
		if err := checkRoutes(host.Routes(), group.BasePath(), routes); err != nil {
			return err
		}
	}
	for _, route := range routes {
		group.Handle(route.method, route.path, route.handlers...)
	}
	mounted = true
	return nil
}

// checkRoutes returns an error when one of the routes, mounted under prefix, conflicts with
// one of the host.
func checkRoutes(host gin.RoutesInfo, prefix string, routes []route) error {
	for _, theirs := range host {
		for _, ours := range routes {
			full := path.Join(prefix, ours.path)
			if theirs.Method == ours.method && conflicting(theirs.Path, full) {
				return fmt.Errorf("rest: mount the API: %s %s conflicts with %s of the host", ours.method, full, theirs.Path)
			}
		}
	}
	return nil
}

// conflicting reports whether Gin panics on the second of two paths with the same method:
// when they are equal, and when the first segments that differ are two parameters or one
// of them is a catch-all.
func conflicting(a, b string) bool {
	left, right := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(left), len(right)) {
		if l, r := left[i], right[i]; l != r {
			return strings.HasPrefix(l, "*") || strings.HasPrefix(r, "*") || strings.HasPrefix(l, ":") && strings.HasPrefix(r, ":")
		}
	}
	return len(left) == len(right)
}
