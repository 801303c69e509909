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

// The kinds of errors that only this package returns. Package domain has the others.
const (
	errMethodNotAllowed     domain.Kind = "method not allowed"
	errTimeout              domain.Kind = "request timeout"
	errBodyTooLarge         domain.Kind = "body too large"
	errUnsupportedMediaType domain.Kind = "unsupported media type"
	errRateLimited          domain.Kind = "rate limited"
	errInternal             domain.Kind = "internal"
)

// The codes of errors that only this package returns. The packages domain and binding have the others.
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

// Fail ends a request with the error response for err. A domain.Error with a known Kind and a Code determines the
// response; any other error results in 500 internal_error. If the client has disconnected, Fail sends no response.
//
// Fail logs an error whose status is 5xx with its cause, which the response never contains. It logs at most one
// error with the status 503 a minute, and none that is expected while the service starts or shuts down.
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
		a.outages.of(c).CompareAndSwap(0, time.Now().UnixMilli())
		a.unavailable.Error("the store is not available", zap.String("request_id", stateOf(c).id[0]), zap.Error(err))
		return
	}
	a.log.Error("request failed", zap.String("request_id", stateOf(c).id[0]), zap.Int("status", status), zap.Error(err))
}

// endsConnection reports whether the connection must be closed after a request with a body, because the read deadline
// has passed. readBody removes the deadline after the body, but a handler of the host that reads the body does not. The
// deadline then also applies to the read by which net/http detects a disconnect: at the deadline that read fails, and
// net/http cancels the context of the connection.
func endsConnection(c *gin.Context) bool {
	deadline := stateOf(c).deadline
	return !deadline.IsZero() && c.Request.ProtoMajor == 1 && !time.Now().Before(deadline)
}

// isExpected reports whether err is an ErrUnavailable that is no problem: an error without a cause, as while the
// service starts, or with the cancellation of a request as its cause, as when the server shuts down.
func isExpected(err error) bool {
	known, ok := errors.AsType[*domain.Error](err)
	return ok && known.Kind == domain.ErrUnavailable && (known.Cause == nil || errors.Is(known.Cause, context.Canceled))
}

// disconnected reports whether the client has disconnected: net/http has cancelled the context of the request,
// but not because of the read deadline (see endsConnection). When the server shuts down, the cause is another error than context.Canceled.
func disconnected(c *gin.Context) bool {
	cause := context.Cause(c.Request.Context())
	byClient := cause == context.Canceled //nolint:errorlint // signal.NotifyContext has a cause that wraps it
	return byClient && !endsConnection(c)
}

// statusClientClosedRequest is the status in the access log and in metrics of a request whose client disconnected
// before the response. nginx uses the same status.
const statusClientClosedRequest = 499

// abortConnection ends a request without a response. It sets a write deadline in the past, which makes net/http
// close the connection, or reset the stream of HTTP/2. A panic with http.ErrAbortHandler would do the same, but
// gin.Recovery, which a host may use, turns it into an empty response.
func abortConnection(c *gin.Context) {
	c.Abort()
	c.Status(statusClientClosedRequest)
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Unix(1, 0))
}

// writeError ends a request with the error response for err, and returns its status. If err is not a domain.Error with a
// known Kind and a Code, the response is 500 internal_error.
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
			c.Header("Connection", "close") // otherwise net/http waits for the rest of the body
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

// MethodNotAllowed sends the 405 response for a method that a path does not support. Use it for Engine.NoMethod. Gin sets
// the header Allow if Engine.HandleMethodNotAllowed is true.
func MethodNotAllowed(c *gin.Context) {
	message := "this path does not support the method " + methodOf(c)
	if allowed := c.Writer.Header().Get("Allow"); allowed != "" {
		message += ", only " + allowed
	}
	writeError(c, &domain.Error{Kind: errMethodNotAllowed, Code: codeMethodNotAllowed, Message: message})
}
