package server

import (
	"net/http"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
)

// NewEngine returns the Gin engine of the petstore program. It serves the API under /v1, /livez and /readyz. All
// error responses, including 404 and 405, have the format of the API. A trusted proxy is an IP address or a CIDR
// network: for requests from it, the access log has the client address that the proxy forwards. NewEngine returns
// an error for an invalid proxy.
func NewEngine(api *rest.API, health *Health, trustedProxies []string) (*gin.Engine, error) {
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false // Gin would send the redirect without the middleware
	if err := engine.SetTrustedProxies(trustedProxies); err != nil {
		return nil, err
	}
	if err := api.Mount(engine.Group("/v1")); err != nil {
		return nil, err
	}

	// Use is called after Mount, because the routes of the API have the middleware already.
	engine.Use(api.Middleware()...)
	engine.NoRoute(rest.NotFound)
	engine.NoMethod(rest.MethodNotAllowed)
	for path, check := range map[string]func(*gin.Context) error{"/livez": livez, "/readyz": health.readyz} {
		engine.Match([]string{http.MethodGet, http.MethodHead}, path, api.HealthHandler(check))
		engine.OPTIONS(path, rest.ServeOptions(http.MethodGet, http.MethodHead))
	}
	return engine, nil
}
