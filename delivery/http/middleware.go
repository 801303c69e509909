package http

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/rs/cors"
	"go.uber.org/zap"

	"example.com/petstore/internal/origin"
)

// Middleware returns the handlers of every request of the API, in their order: discarding the rest of a body larger than
// 64 KiB, tracing, request id with metrics and access log, recovery from panics, CORS, 404 for an encoded slash. A host
// can use them for its own routes, if these take no body larger than 64 KiB.
//
// The request id is the header X-Request-Id of the response if the host has set it, or else that of the request if it is
// 1 to 64 of A-Za-z0-9._- and has no API key, or else 128 random bits. The response and the log have it.
func (a *API) Middleware() []gin.HandlerFunc {
	handlers := []gin.HandlerFunc{discardBody, a.trace, a.beginRequest, a.recoverPanic, a.cors, rejectEncodedSlash}
	return slices.DeleteFunc(handlers, func(h gin.HandlerFunc) bool { return h == nil })
}

// rejectEncodedSlash ends a request with 404 if Gin matched an encoded slash as a slash. The path with the encoded slash
// is a different path (RFC 3986, section 2.2): a proxy may have applied its rules to it, and relative references resolve
// differently. An engine with UseRawPath matches encoded slashes correctly.
func rejectEncodedSlash(c *gin.Context) {
	if hasEncodedSlash(c) {
		c.Writer.Header().Del("Allow") // set by Gin
		NotFound(c)
	}
}

// hasEncodedSlash reports whether Gin matched an encoded slash as a separator of segments, and not as a part of a
// parameter.
func hasEncodedSlash(c *gin.Context) bool {
	encoded := strings.Count(strings.ToUpper(c.Request.URL.RawPath), "%2F") // RawPath is empty unless the path has unusual escapes
	for _, parameter := range c.Params {
		encoded -= strings.Count(parameter.Value, "/")
	}
	return encoded > 0
}

// recoverPanic sends internal_error after a panic. If a part of the response was already sent, it closes the connection
// instead, so that the client does not take the response as complete.
func (a *API) recoverPanic(c *gin.Context) {
	defer func() {
		recovered := recover()
		if recovered == nil {
			return
		}
		if err, ok := recovered.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(recovered) //nolint:forbidigo // closes the connection
		}
		a.log.Error("panic", zap.String("request_id", stateOf(c).id[0]), zap.Any("panic", recovered), zap.Stack("stack"))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) //nolint:forbidigo // closes the connection
		}
		a.Fail(c, fmt.Errorf("panic: %v", recovered))
	}()
	c.Next()
}

// allowOrigins returns a handler that sets the CORS headers, or nil without origins. The handler does not end a request:
// the route sends the response, for a preflight request the OPTIONS route. A request from another origin gets no CORS
// headers, so the browser blocks the response.
func allowOrigins(origins []string) gin.HandlerFunc {
	if len(origins) == 0 {
		return nil
	}
	options := cors.Options{
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{
			"Age", "Changes-Position", "Deprecation", "ETag", "Idempotency-Replayed", "Link", "Location", "RateLimit", "RateLimit-Policy",
			"Retry-After", "Sunset", "WWW-Authenticate", "X-Request-Id",
		},
		MaxAge: 600,
	}
	if origins[0] != "*" { // for "*", the default of package cors is right: every origin
		options.AllowOriginFunc = origin.Matcher(origins) // in AllowedOrigins of package cors, a * would stand for any text
	}
	policy := cors.New(options)
	return func(c *gin.Context) { policy.HandlerFunc(c.Writer, c.Request) }
}
