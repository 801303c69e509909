package http

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"example.com/petstore/domain"
)

// The kinds of failure that only the transport knows.
const (
	errMethod       domain.Kind = "method not allowed"
	errTimeout      domain.Kind = "request timeout"
	errGone         domain.Kind = "gone"
	errBodyTooLarge domain.Kind = "body too large"
	errMediaType    domain.Kind = "unsupported media type"
	errRateLimited  domain.Kind = "rate limited"
	errInternal     domain.Kind = "internal"
)

// The codes of the transport; the others stand in package domain.
const (
	codeInvalidJSON          domain.Code = "invalid_json"
	codeNotFound             domain.Code = "not_found"
	codeMethodNotAllowed     domain.Code = "method_not_allowed"
	codeRequestTimeout       domain.Code = "request_timeout"
	codeOperationRemoved     domain.Code = "operation_removed"
	codeBodyTooLarge         domain.Code = "body_too_large"
	codeUnsupportedMediaType domain.Code = "unsupported_media_type"
	codeRateLimited          domain.Code = "rate_limited"
	codeInternalError        domain.Code = "internal_error"
)

// statuses is the one place that turns a kind into a status.
var statuses = map[domain.Kind]int{
	domain.ErrInvalid:         http.StatusBadRequest,
	domain.ErrUnauthenticated: http.StatusUnauthorized,
	domain.ErrForbidden:       http.StatusForbidden,
	domain.ErrNotFound:        http.StatusNotFound,
	errMethod:                 http.StatusMethodNotAllowed,
	errTimeout:                http.StatusRequestTimeout,
	domain.ErrConflict:        http.StatusConflict,
	errGone:                   http.StatusGone,
	errBodyTooLarge:           http.StatusRequestEntityTooLarge,
	errMediaType:              http.StatusUnsupportedMediaType,
	domain.ErrReused:          http.StatusUnprocessableEntity,
	errRateLimited:            http.StatusTooManyRequests,
	errInternal:               http.StatusInternalServerError,
	domain.ErrUnavailable:     http.StatusServiceUnavailable,
}

type errorBody struct {
	// Machine-registererFor error code.
	Code domain.Code `json:"code" validate:"required" example:"validation_failed"`
	// Human-registererFor description.
	Message string `json:"message" validate:"required" example:"name is required"`
	// The HTTP status code of the response.
	Status int `json:"status" validate:"required" example:"400"`
} // @name Error

// Fail ends a request with the response to an error. It logs a failure of the service
// with its cause, which is never part of the response.
func (a *API) Fail(c *gin.Context, err error) {
	if errors.Is(err, context.Canceled) && disconnected(c.Request.Context()) {
		a.log.Debug("the client disconnected", zap.String("request_id", stateOf(c).id[0]))
		abortConnection(c)
		return
	}
	status := writeError(c, err)
	if status >= http.StatusInternalServerError && !isExpected(err) {
		a.log.Error("request failed", zap.String("request_id", stateOf(c).id[0]), zap.Int("status", status), zap.Error(err))
	}
}

// isExpected reports whether err says no more than the response: the service starts or
// shuts down.
func isExpected(err error) bool {
	var known *domain.Error
	return errors.As(err, &known) && known.Kind == domain.ErrUnavailable && known.Cause == nil
}

// disconnected reports whether net/http cancelled the context of a request before its
// deadline. At the deadline it does so, too, when a host has read the body before us.
func disconnected(ctx context.Context) bool {
	deadline, _ := ctx.Deadline()
	return errors.Is(ctx.Err(), context.Canceled) && time.Now().Before(deadline)
}

// statusClientClosedRequest is the status of a request whose client disconnected before
// its response, in the log and in metrics alone. nginx uses the same.
const statusClientClosedRequest = 499

// abortConnection ends a request without a response: net/http cannot write any more, and
// closes the connection. A panic with http.ErrAbortHandler would do the same, but
// gin.Recovery turns that into an empty response.
func abortConnection(c *gin.Context) {
	c.Abort()
	c.Status(statusClientClosedRequest)
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Unix(1, 0))
}

// writeError ends a request with the answer to an error and returns its status.
// What is no domain.Error of a known kind is an internal one.
func writeError(c *gin.Context, err error) int {
	var known *domain.Error
	if !errors.As(err, &known) || statuses[known.Kind] == 0 {
		known = &domain.Error{
			Kind: errInternal, Code: codeInternalError,
			Message: "something went wrong on our side; the request id leads to it in the log",
		}
	}
	status := statuses[known.Kind]
	switch status {
	case http.StatusRequestEntityTooLarge:
		if c.Request.ProtoMajor == 1 {
			c.Header("Connection", "close") // net/http would wait for the rest of the body
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
	c.Header("Content-Length", strconv.Itoa(len(body))) // which a response that is flushed would lack
	writeBody(c, status, body)
	return status
}

// NotFound answers a path that no route has; for the NoRoute of an engine.
func NotFound(c *gin.Context) {
	writeError(c, &domain.Error{
		Kind: domain.ErrNotFound, Code: codeNotFound,
		Message: "there is nothing at this address",
	})
}

// MethodNotAllowed answers a method that a path does not offer; for the NoMethod
// of an engine, which has set Allow when HandleMethodNotAllowed is on. On the path of
// getPet it lacks the headers that API.DeprecationHeaders sets.
func MethodNotAllowed(c *gin.Context) {
	writeError(c, &domain.Error{
		Kind: errMethod, Code: codeMethodNotAllowed,
		Message: "this address does not offer the method " + methodOf(c) + ", see the header Allow",
	})
}
