package http

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/rs/cors"
)

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
