package http

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/rs/cors"
)

// WithAllowedOrigins lets pages of these origins, such as https://shop.example.com,
// use the API from a browser (CORS). Cookies are no part of it: a page sends a key.
// By default only pages of the API's own origin may.
func WithAllowedOrigins(origins ...string) Option {
	return func(a *API) {
		a.cors = nil
		if len(origins) > 0 {
			a.cors = allowOrigins(origins)
		}
	}
}

// allowOrigins adds the headers of CORS and leaves the answer to the route, which
// for a preflight is that of OPTIONS. A page of another origin gets no headers, so
// its browser keeps the answer from it; whoever is no browser is not concerned.
func allowOrigins(origins []string) gin.HandlerFunc {
	policy := cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{
			"Deprecation", "ETag", "Idempotency-Replayed", "Link", "Location", "RateLimit", "RateLimit-Policy", "Retry-After",
			"Sunset", "WWW-Authenticate", "X-Request-Id",
		},
		MaxAge: 600,
	})
	return func(c *gin.Context) { policy.HandlerFunc(c.Writer, c.Request) }
}
