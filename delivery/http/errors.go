package http

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"example.com/petstore/domain"
)

// The kinds of errors of this package; the others are in package domain.
const (
	errMethodNotAllowed     domain.Kind = "method not allowed"
	errTimeout              domain.Kind = "request timeout"
	errBodyTooLarge         domain.Kind = "body too large"
	errUnsupportedMediaType domain.Kind = "unsupported media type"
	errRateLimited          domain.Kind = "rate limited"
	errInternal             domain.Kind = "internal"
)

// The codes of these errors; the others are in the packages domain and binding.
const (
	codeNotFound             domain.Code = "not_found"
	codeMethodNotAllowed     domain.Code = "method_not_allowed"
	codeRequestTimeout       domain.Code = "request_timeout"
	codeOperationRemoved     domain.Code = "operation_removed"
	codeBodyTooLarge         domain.Code = "body_too_large"
	codeUnsupportedMediaType domain.Code = "unsupported_media_type"
	codeRateLimited          domain.Code = "rate_limited"
	codeInternalError        domain.Code = "internal_error"
)

// statuses has the HTTP status of each kind.
var statuses = map[domain.Kind]int{
	domain.ErrInvalid:         http.StatusBadRequest,
	domain.ErrUnauthenticated: http.StatusUnauthorized,
	domain.ErrForbidden:       http.StatusForbidden,
	domain.ErrNotFound:        http.StatusNotFound,
	errMethodNotAllowed:       http.StatusMethodNotAllowed,
	errTimeout:                http.StatusRequestTimeout,
	domain.ErrExpired:         http.StatusGone,
	domain.ErrConflict:        http.StatusConflict,
	domain.ErrPrecondition:    http.StatusPreconditionFailed,
	errBodyTooLarge:           http.StatusRequestEntityTooLarge,
	errUnsupportedMediaType:   http.StatusUnsupportedMediaType,
	domain.ErrReused:          http.StatusUnprocessableEntity,
	errRateLimited:            http.StatusTooManyRequests,
	errInternal:               http.StatusInternalServerError,
	domain.ErrUnavailable:     http.StatusServiceUnavailable,
}

type errorBody struct {
	// Machine-readable error code.
	Code domain.Code `json:"code" validate:"required" example:"validation_failed" swaggertype:"string"`
	// Human-readable description.
	Message string `json:"message" validate:"required" example:"name is required"`
	// The HTTP status code of the response.
	Status int `json:"status" validate:"required" example:"400"`
} // @name Error

// Fail ends a request with the error response for err, a domain.Error with a Kind and a
// Code; any other error results in 500 internal_error. It logs errors with a 5xx status,
// with their cause, which is never part of the response. Of those with the status 503 it
// logs the first of an outage, later ones if none had failed for a minute, and the end of
// the outage. If the client has disconnected, no response is sent.
func (a *API) Fail(c *gin.Context, err error) {
	if errors.Is(err, context.Canceled) && disconnected(c.Request.Context()) {
		a.log.Debug("the client disconnected", zap.String("request_id", stateOf(c).id[0]))
		abortConnection(c)
		return
	}
	if endsConnection(c) {
		c.Header("Connection", "close")
	}
	status := writeError(c, err)
	if status < http.StatusInternalServerError || isExpected(err) {
		return
	}
	if status == http.StatusServiceUnavailable {
		a.logUnavailable(c, err)
		return
	}
	a.log.Error("request failed", zap.String("request_id", stateOf(c).id[0]), zap.Int("status", status), zap.Error(err))
}

// endsConnection reports whether the connection must not be used after a request, because
// the read deadline of its body has passed: if a handler of the host had read the body,
// net/http was reading on to detect a disconnect, and has cancelled the context of the
// connection.
func endsConnection(c *gin.Context) bool {
	deadline := stateOf(c).deadline
	return c.Request.ContentLength != 0 && c.Request.ProtoMajor == 1 && !deadline.IsZero() && !time.Now().Before(deadline)
}

// isExpected reports whether err is an ErrUnavailable without a cause, as while the service
// starts, or of a request that the end of the server interrupts.
func isExpected(err error) bool {
	known, ok := errors.AsType[*domain.Error](err)
	return ok && known.Kind == domain.ErrUnavailable && (known.Cause == nil || errors.Is(known.Cause, context.Canceled))
}

// disconnected reports whether net/http cancelled the context of a request before the
// deadline. It also does so at the deadline if a handler of the host has read the body. A
// cause other than context.Canceled is that of a server that shuts down.
func disconnected(ctx context.Context) bool {
	deadline, _ := ctx.Deadline()
	cause := context.Cause(ctx)
	return cause == context.Canceled && time.Now().Before(deadline) //nolint:errorlint // the cause of signal.NotifyContext is context.Canceled for errors.Is
}

// statusClientClosedRequest is the status of a request whose client disconnected before
// its response, in the access log and in metrics. nginx uses the same status.
const statusClientClosedRequest = 499

// abortConnection ends a request without a response: the write deadline makes net/http
// close the connection, or reset the stream of HTTP/2. A panic with http.ErrAbortHandler
// would do the same, but the gin.Recovery of a host turns it into an empty response.
func abortConnection(c *gin.Context) {
	c.Abort()
	c.Status(statusClientClosedRequest)
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Unix(1, 0))
}

// writeError ends a request with the error response for err and returns its status. An
// error that is not a domain.Error of a known kind with a code becomes internal_error.
func writeError(c *gin.Context, err error) int {
	known, ok := errors.AsType[*domain.Error](err)
	if !ok || statuses[known.Kind] == 0 || known.Code == "" {
		known = &domain.Error{
			Kind: errInternal, Code: codeInternalError,
			Message: "an internal error occurred: quote the X-Request-Id of this response when you report it",
		}
	}
	stateOf(c).failure = known
	status := statuses[known.Kind]
	switch status {
	case http.StatusRequestEntityTooLarge:
		if c.Request.ProtoMajor == 1 {
			c.Header("Connection", "close") // else net/http waits for the rest of the body
		}
	case http.StatusServiceUnavailable:
		c.Header("Retry-After", "1")
	}
	c.Abort()
	body, err := json.Marshal(errorBody{Code: known.Code, Message: known.Message, Status: status})
	if err != nil {
		c.Status(http.StatusInternalServerError)
		return status
	}
	writeBody(c, status, body)
	return status
}

// NotFound sends the 404 response for a path without a route. Use it for Engine.NoRoute.
func NotFound(c *gin.Context) {
	writeError(c, &domain.Error{
		Kind: domain.ErrNotFound, Code: codeNotFound,
		Message: "there is no resource at this path",
	})
}

// MethodNotAllowed sends the 405 response for a method that a path does not have. Use it
// for Engine.NoMethod. Gin sets the header Allow if Engine.HandleMethodNotAllowed is true.
func MethodNotAllowed(c *gin.Context) {
	writeError(c, &domain.Error{
		Kind: errMethodNotAllowed, Code: codeMethodNotAllowed,
		Message: "this path does not support the method " + methodOf(c) + ", see the header Allow",
	})
}

// minOutage is how long after the last request that failed an outage ends at the earliest, so
// that a store that fails now and then does not fill the log.
const minOutage = time.Second

// repeatAfter is how long after the last request that failed the next one is logged again: the
// kind of request that would end the outage may never be sent.
const repeatAfter = time.Minute

// An outage is a time in which the store is not available. The log has its beginning and its
// end, and at the level debug the other requests that failed.
type outage struct {
	active atomic.Bool

	mu       sync.Mutex
	failing  map[string]bool // kinds of request that have failed, and not succeeded since
	start    time.Time
	last     time.Time // when a request failed
	requests int       // that failed
}

// logUnavailable logs the error of a request that failed because of the store.
func (a *API) logUnavailable(c *gin.Context, err error) {
	level := zap.DebugLevel
	if a.outage.fail(kindOf(c), a.now()) {
		level = zap.ErrorLevel
	}
	a.log.Log(level, "the store is not available", zap.String("request_id", stateOf(c).id[0]), zap.Error(err))
}

// logAvailable logs that the store is available again if a request is the first that shows it.
func (a *API) logAvailable(c *gin.Context) {
	if !a.outage.active.Load() || c.Writer.Status() >= http.StatusBadRequest {
		return
	}
	now := a.now()
	if duration, requests := a.outage.succeed(kindOf(c), now); requests > 0 {
		a.log.Info("the store is available again", zap.Duration("duration", duration), zap.Int("failed_requests", requests))
	}
}

// kindOf returns the kind of a request: writes may fail while reads do not, and the service may
// not be ready while both succeed.
func kindOf(c *gin.Context) string {
	switch {
	case stateOf(c).health:
		return c.FullPath()
	case c.Request.Method == http.MethodPost:
		return "write"
	}
	return "read"
}

// fail reports whether a request that failed is the first one of an outage, or the first one for
// repeatAfter.
func (o *outage) fail(kind string, now time.Time) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first = now.Sub(o.last) >= repeatAfter
	if !o.active.Load() {
		first = true
		o.start, o.requests, o.failing = now, 0, map[string]bool{}
		o.active.Store(true)
	}
	o.failing[kind] = true
	o.last = now
	o.requests++
	return first
}

// succeed returns the duration of the outage, and the number of requests that failed, if it
// ends with a request that succeeded: all kinds of request that failed have succeeded.
func (o *outage) succeed(kind string, now time.Time) (duration time.Duration, requests int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.active.Load() || now.Sub(o.last) < minOutage {
		return 0, 0
	}
	delete(o.failing, kind)
	if len(o.failing) > 0 {
		return 0, 0
	}
	o.active.Store(false)
	return now.Sub(o.start), o.requests
}
