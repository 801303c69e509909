package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// pingTimeout is how long Check waits for ping.
const pingTimeout = 2 * time.Second

// Health serves the liveness and the readiness of the process.
type Health struct {
	ping     func(context.Context) error
	draining atomic.Bool
}

// NewHealth returns a Health that reports the process as ready while ping returns nil.
// ping queries the store.
func NewHealth(ping func(context.Context) error) *Health { return &Health{ping: ping} }

// Drain makes Health report the process as not ready from now on, so that a load balancer sends no new requests to it.
func (h *Health) Drain() { h.draining.Store(true) }

// livez sends 200 as long as the process runs.
func livez(c *gin.Context) error {
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"alive"}`))
	return nil
}

// Check returns nil if requests can be served. It returns an ErrUnavailable if the process shuts down, or if ping
// fails or exceeds pingTimeout.
func (h *Health) Check(ctx context.Context) error {
	if h.draining.Load() {
		return unavailable("the service is shutting down")
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := h.ping(ctx); err != nil {
		return domain.Unavailable(err)
	}
	return nil
}

// readyz sends 200 if Check returns nil, and returns the error of Check otherwise.
func (h *Health) readyz(c *gin.Context) error {
	if err := h.Check(c.Request.Context()); err != nil {
		return err
	}
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"ready"}`))
	return nil
}

// unavailable returns an ErrUnavailable without a cause. rest.API.Fail does not log it.
func unavailable(message string) error {
	return &domain.Error{Kind: domain.ErrUnavailable, Code: domain.CodeUnavailable, Message: message}
}
