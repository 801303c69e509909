package server

import (
	"net/http"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
)

// NewEngine returns the Gin engine of the petstore program, with the API under /v1 and
// with /livez and /readyz. All errors, including 404 and 405, have the format of the API.
// For requests from a trusted proxy (an IP address or CIDR network) the access log has the
// address of the client. NewEngine returns an error if a proxy is neither.
func NewEngine(api *rest.API, health *Health, trustedProxies []string) (*gin.Engine, error) {
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false // Gin sends the redirect without the middleware
	if err := engine.SetTrustedProxies(trustedProxies); err != nil {
		return nil, err
	}
	if err := api.Mount(engine.Group("/v1")); err != nil {
		return nil, err
	}

	// After Mount, whose routes have the middleware already.
	engine.Use(api.Middleware()...)
	engine.NoRoute(rest.NotFound)
	engine.NoMethod(rest.MethodNotAllowed)
	for path, check := range map[string]func(*gin.Context) error{"/livez": livez, "/readyz": health.readyz} {
		engine.Match([]string{http.MethodGet, http.MethodHead}, path, api.HealthHandler(check))
		engine.OPTIONS(path, rest.ServeOptions(http.MethodGet, http.MethodHead))
	}
	return engine, nil
}
