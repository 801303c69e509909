package server

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// A StartupHandler serves requests while the store is being opened, until SetHandler is called. It sends 200 for
// /livez and 503 for other requests, except
//
//   - 204 for OPTIONS on the paths of the API and of the health checks, because a browser does not send a request after
//     its preflight has failed,
//   - 405 for a wrong method of /v1/pets/batch, and 404 for a path that is rejected because of an encoded slash.
type StartupHandler struct{ handler atomic.Pointer[http.Handler] }

// NewStartupHandler returns a StartupHandler. trustedProxies are as in NewEngine. Of the options of the API it uses
// Logger, RequestTimeout and AllowedOrigins.
func NewStartupHandler(trustedProxies []string, o rest.Options) (*StartupHandler, error) {
	starting := unavailable("the service is starting, try again")
	api, err := rest.New(rest.Service{
		// None is called, because Authenticate rejects all requests.
		Pets: struct{ rest.Pets }{}, Orders: struct{ rest.Orders }{}, Categories: struct{ rest.Categories }{}, Changes: struct{ rest.Changes }{},
		Numbers: func(context.Context) (domain.Numbers, error) { return domain.Numbers{}, starting },
	}, rest.Options{
		Authenticate: func(*gin.Context) (string, error) { return "", starting },
		Logger:       o.Logger, RequestTimeout: o.RequestTimeout, AllowedOrigins: o.AllowedOrigins,
	})
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
