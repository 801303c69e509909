package http

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
)

// Middleware returns what every request of the API passes, in this order: request id,
// deadline, metrics, access log, recovery. A host can use it for addresses of its own.
func (a *API) Middleware() []gin.HandlerFunc {
	all := []gin.HandlerFunc{discardBody, a.trace, a.begin, a.recoverPanic, rejectEncodedSlash, a.cors}
	return slices.DeleteFunc(all, func(h gin.HandlerFunc) bool { return h == nil })
}

// rejectEncodedSlash answers a path with an encoded slash as one that no route has, where
// Gin took it for a slash, which it is not (RFC 3986, section 2.2): what stands before us
// may have judged another path, and relative references would lead elsewhere. An engine
// with UseRawPath knows the difference.
func rejectEncodedSlash(c *gin.Context) {
	if hasEncodedSlash(c) {
		c.Writer.Header().Del("Allow") // of Gin's
		NotFound(c)
	}
}

// hasEncodedSlash reports whether Gin matched an encoded slash as one that separates segments.
func hasEncodedSlash(c *gin.Context) bool {
	raw := c.Request.URL.RawPath // empty for nearly all
	return strings.Contains(strings.ToUpper(raw), "%2F") && strings.Count(raw, "/") != strings.Count(c.FullPath(), "/")
}

// recoverPanic answers a panic as an internal error, unless the answer has begun:
// then nothing but the end of the connection can tell the client.
func (a *API) recoverPanic(c *gin.Context) {
	defer func() {
		recovered := recover()
		if recovered == nil {
			return
		}
		if err, is := recovered.(error); is && errors.Is(err, http.ErrAbortHandler) {
			panic(recovered) //nolint:forbidigo // net/http's own way to end a connection
		}
		a.log.Error("panic", zap.String("request_id", stateOf(c).id[0]), zap.Any("panic", recovered), zap.Stack("stack"))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's own way to end a connection
		}
		a.Fail(c, fmt.Errorf("panic: %v", recovered))
	}()
	c.Next()
}
