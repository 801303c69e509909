package http

import (
	"context"
	"errors"
	"net/http"
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
// with their cause, which is never part of the response; of those with the status 503 one in
// a minute. If the client has disconnected, no response is sent.
func (a *API) Fail(c *gin.Context, err error) {
	if errors.Is(err, context.Canceled) && disconnected(c) {
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
		a.unavailable.Error("the store is not available", zap.String("request_id", stateOf(c).id[0]), zap.Error(err))
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
func disconnected(c *gin.Context) bool {
	cause := context.Cause(c.Request.Context())
	byClient := cause == context.Canceled //nolint:errorlint // not that of signal.NotifyContext, which wraps it
	return byClient && time.Now().Before(stateOf(c).deadline)
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
