package http

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// middleware is what every request of the API goes through, in this order.
func (a *API) middleware() []gin.HandlerFunc {
	all := []gin.HandlerFunc{a.begin, a.trace, a.observe, a.recoverPanic, a.cors}
	return slices.DeleteFunc(all, func(h gin.HandlerFunc) bool { return h == nil })
}

// observe measures a request and writes a line about it.
func (a *API) observe(c *gin.Context) {
	a.metrics.inFlight.Inc()
	defer a.observeEnd(c, time.Now()) // also of a connection that a panic ends
	c.Next()
}

func (a *API) observeEnd(c *gin.Context, start time.Time) {
	took := time.Since(start)
	a.metrics.inFlight.Dec()
	a.metrics.measure(c, took)
	if entry := a.log.Check(zap.InfoLevel, "request"); entry != nil {
		entry.Write(zap.Inline(a.accessOf(c, took)))
	}
}

// accessOf tells the route of a request, never the query or a header, where
// secrets may stand.
func (a *API) accessOf(c *gin.Context, took time.Duration) *access {
	x := exchangeOf(c)
	line := &access{
		requestID: x.id[0], method: c.Request.Method, route: c.FullPath(), status: c.Writer.Status(),
		took: took, keyID: x.caller, client: c.ClientIP(),
	}
	if a.trace != nil {
		line.traceID = traceID(c.Request.Context())
	}
	return line
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
		a.log.Error("panic", zap.String("request_id", exchangeOf(c).id[0]), zap.Any("panic", recovered), zap.Stack("stack"))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's own way to end a connection
		}
		a.fail(c, fmt.Errorf("panic: %v", recovered))
	}()
	c.Next()
}
