package http

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/rs/cors"
)

// WithAllowedOrigins allows web pages of the origins, such as https://shop.example.com, to
// use the API (CORS), with an API key and not with cookies. By default only pages of the
// same origin can. An origin may have one *, which stands for any text. New returns an error
// for a text that is not an origin, and for null, which any page can send.
func WithAllowedOrigins(origins ...string) Option {
	return func(a *API) { a.origins = origins }
}

var originPattern = regexp.MustCompile(`^(\*|[^:/]+://[^/?#@]+)$`)

func isOrigin(text string) bool {
	return originPattern.MatchString(text) && strings.Count(text, "*") <= 1
}

// allowOrigins returns a handler that sets the CORS headers, or nil without origins. The
// response itself is that of the route, also for a preflight request, where it is that of
// OPTIONS. A request of another origin gets no CORS headers, so that its browser blocks the
// response.
func allowOrigins(origins []string) gin.HandlerFunc {
	if len(origins) == 0 {
		return nil
	}
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
