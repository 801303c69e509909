package http

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// middleware is what every request of the API goes through, in this order.
func (a *API) middleware() []gin.HandlerFunc {
	all := []gin.HandlerFunc{answerHeaders, a.trace, a.logAccess, a.measure, a.recoverPanic, a.cors, a.limitTime}
	return slices.DeleteFunc(all, func(h gin.HandlerFunc) bool { return h == nil })
}

// everyAnswer is what the header of every answer begins with. A handler may replace
// a value but not alter it: all requests share them.
var everyAnswer = http.Header{
	"Cache-Control":           {"no-store"},
	"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
	"X-Content-Type-Options":  {"nosniff"},
}

var clientRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// answerHeaders sets what every answer carries.
func answerHeaders(c *gin.Context) {
	id := c.GetHeader("X-Request-Id")
	if !clientRequestID.MatchString(id) {
		var bits [16]byte
		_, _ = rand.Read(bits[:]) // never fails (crypto/rand, Go 1.24)
		id = hex.EncodeToString(bits[:])
	}
	header := c.Writer.Header()
	maps.Copy(header, everyAnswer)
	header["X-Request-Id"] = []string{id}
}

func requestID(c *gin.Context) string {
	ids := c.Writer.Header()["X-Request-Id"] // set by answerHeaders
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// logAccess writes a line for each request: the route, never the query or a
// header, where secrets may stand.
func (a *API) logAccess(c *gin.Context) {
	start := time.Now()
	defer a.tellAccess(c, start) // also of a connection that a panic ends
	c.Next()
}

func (a *API) tellAccess(c *gin.Context, start time.Time) {
	entry := a.log.Check(zap.InfoLevel, "request")
	if entry == nil {
		return
	}
	line := &access{
		requestID: requestID(c), method: c.Request.Method, route: c.FullPath(), status: c.Writer.Status(),
		took: time.Since(start), keyID: callerOf(c), client: c.ClientIP(),
	}
	if a.trace != nil {
		line.traceID = traceID(c.Request.Context())
	}
	entry.Write(zap.Inline(line))
}

// access is the line of a request: one field of the log that writes itself, which
// costs less than a field for each of its parts.
type access struct {
	requestID, method, route string
	status                   int
	took                     time.Duration
	keyID, client, traceID   string
}

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (l *access) MarshalLogObject(line zapcore.ObjectEncoder) error {
	line.AddString("request_id", l.requestID)
	line.AddString("method", l.method)
	line.AddString("route", l.route)
	line.AddInt64("status", int64(l.status))
	line.AddDuration("duration", l.took)
	line.AddString("key_id", l.keyID)
	line.AddString("client", l.client)
	if l.traceID != "" {
		line.AddString("trace_id", l.traceID)
	}
	return nil
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
		a.log.Error("panic", zap.String("request_id", requestID(c)), zap.Any("panic", recovered), zap.Stack("stack"))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's own way to end a connection
		}
		a.fail(c, fmt.Errorf("panic: %v", recovered))
	}()
	c.Next()
}

// limitTime ends the work on a request that takes too long.
func (a *API) limitTime(c *gin.Context) {
	ctx := &deadline{Context: c.Request.Context(), timeout: a.timeout}
	defer ctx.end()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}
