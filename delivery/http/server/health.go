package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// pingTimeout bounds a ping of the store.
const pingTimeout = 2 * time.Second

// Health is the state of the process, for an orchestrator.
type Health struct {
	ping     func(context.Context) error
	draining atomic.Bool
}

// NewHealth returns the health of a process that is ready while ping, a query on the
// store, returns nil.
func NewHealth(ping func(context.Context) error) *Health { return &Health{ping: ping} }

// Drain makes the process permanently unready, so that no new requests are sent to it.
func (h *Health) Drain() { h.draining.Store(true) }

// livez returns 200 as long as the process runs.
func (h *Health) livez(c *gin.Context) error {
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"alive"}`))
	return nil
}

// readyz returns 200 while requests can be served.
func (h *Health) readyz(c *gin.Context) error {
	if h.draining.Load() {
		return unavailable("the service is shutting down")
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), pingTimeout)
	defer cancel()
	if err := h.ping(ctx); err != nil {
		return domain.Unavailable(err)
	}
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"ready"}`))
	return nil
}

// unavailable returns an ErrUnavailable without a cause, which is not logged.
func unavailable(message string) error {
	return &domain.Error{Kind: domain.ErrUnavailable, Code: domain.CodeUnavailable, Message: message}
}
