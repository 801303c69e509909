package serve

import (
	"net/http"

	"example.com/petstore"
	"example.com/petstore/config"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/delivery/http/swagger"
)

// newPublicHandler returns the handler of the public listener: the API, the health checks and, if
// enabled, the documentation, to which / leads.
func newPublicHandler(service *petstore.Service, health *server.Health, settings config.Config) (http.Handler, error) {
	engine, err := server.NewEngine(service.API(), health, settings.Server.TrustedProxies)
	if err != nil || !settings.Docs.Enabled {
		return engine, err
	}
	swagger.RedirectRoot(engine)
	return engine, swagger.Mount(engine, service)
}
