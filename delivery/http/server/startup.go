package server

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
)

// A StartupHandler serves requests from the start of the process, while the store is being
// opened. Until SetHandler is called it sends 200 for /livez, 204 for OPTIONS on the paths of
// the API, because browsers do not send a request if its preflight failed, and 503 for
// everything else.
type StartupHandler struct{ handler atomic.Pointer[http.Handler] }

// NewStartupHandler returns a StartupHandler with the trusted proxies of NewEngine and those
// options of the API that apply to rejected requests: Logger, RequestTimeout and AllowedOrigins.
func NewStartupHandler(trustedProxies []string, o rest.Options) (*StartupHandler, error) {
	starting := unavailable("the service is starting, try again")
	api, err := rest.New(rest.Options{Unavailable: starting, Logger: o.Logger, RequestTimeout: o.RequestTimeout, AllowedOrigins: o.AllowedOrigins})
	if err != nil {
		return nil, err
	}
	engine, err := NewEngine(api, NewHealth(func(context.Context) error { return starting }), trustedProxies)
	if err != nil {
		return nil, err
	}
	engine.HandleMethodNotAllowed = false
	engine.NoRoute(func(c *gin.Context) { api.Fail(c, starting) })
	s := &StartupHandler{}
	s.SetHandler(engine)
	return s, nil
}

// SetHandler makes handler serve all requests from now on.
func (s *StartupHandler) SetHandler(handler http.Handler) { s.handler.Store(&handler) }

// ServeHTTP implements http.Handler.
func (s *StartupHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.handler.Load()).ServeHTTP(w, r)
}
