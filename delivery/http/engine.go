package http

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// NewEngine is the Gin engine of the petstore program: the API under /v1, the
// health of the process beside it, and no answer that is not ours. Requests that
// come through one of the trusted proxies (addresses or CIDRs) are logged with the
// client's address. It fails for a proxy that is neither.
func NewEngine(api *API, health *Health, trustedProxies []string) (*gin.Engine, error) {
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false // a redirect would skip every middleware
	if err := engine.SetTrustedProxies(trustedProxies); err != nil {
		return nil, err
	}
	if len(trustedProxies) == 0 {
		own := *api                          // the API may be mounted on an engine that trusts some, too
		own.client = (*gin.Context).RemoteIP // as ClientIP would find, at a third of its price
		api = &own
	}
	group := engine.Group("/v1")
	if err := api.Register(group); err != nil {
		return nil, err
	}

	engine.Use(api.middleware()...)
	engine.NoRoute(NotFound)
	engine.NoMethod(api.DeprecationHeaders(group), MethodNotAllowed)
	methods := []string{http.MethodGet, http.MethodHead}
	engine.Match(methods, "/livez", api.serve(health.livez))
	engine.Match(methods, "/readyz", api.serve(health.readyz))
	engine.OPTIONS("/livez", options(methods))
	engine.OPTIONS("/readyz", options(methods))
	return engine, nil
}
