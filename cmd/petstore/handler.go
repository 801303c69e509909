package main

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"example.com/petstore/config"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/docs"
)

// newPublicHandler returns the handler of the public listener: the API with the settings
// and the options, the health checks and, if enabled, the documentation.
func newPublicHandler(settings config.Config, health *server.Health, services rest.Services, options ...rest.Option) (http.Handler, error) {
	api, err := rest.New(services, append(options,
		rest.WithRequestTimeout(settings.Server.RequestTimeout),
		rest.WithRateLimit(settings.RateLimit.Requests, settings.RateLimit.Window),
		rest.WithAllowedOrigins(settings.CORS.AllowedOrigins...),
	)...)
	if err != nil {
		return nil, err
	}
	engine, err := server.NewEngine(api, health, settings.Server.TrustedProxies)
	if err != nil {
		return nil, err
	}
	if settings.Docs.Enabled {
		if err := mountDocs(engine, settings); err != nil {
			return nil, err
		}
	}
	return engine, nil
}

// mountDocs mounts the OpenAPI document and Swagger UI on the engine, and redirects / to
// Swagger UI.
func mountDocs(engine *gin.Engine, settings config.Config) error {
	document, err := docs.Document(docs.Options{
		ProductionURL: settings.Server.ProductionURL,
		StagingURL:    settings.Server.StagingURL,
	})
	if err != nil {
		return err
	}
	swagger.RedirectRoot(engine)
	return swagger.Register(engine, swagger.Options{
		Document: document, TrustedProxies: settings.Server.TrustedProxies, NotFound: rest.NotFound,
	})
}
