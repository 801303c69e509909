package http

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// Health tells an orchestrator how the process is.
type Health struct {
	ping     func(context.Context) error
	draining atomic.Bool
}

// NewHealth returns the health of a process that is ready while ping, a real
// question to the store, returns nil.
func NewHealth(ping func(context.Context) error) *Health { return &Health{ping: ping} }

// Drain makes the process unready for good, so that no new requests are sent to it.
func (h *Health) Drain() { h.draining.Store(true) }

// livez answers as long as the process does.
func (h *Health) livez(c *gin.Context) error {
	return writeJSON(c, http.StatusOK, healthBody{Status: "alive"})
}

// readyz answers 200 while requests can be served.
func (h *Health) readyz(c *gin.Context) error {
	if h.draining.Load() {
		writeError(c, &domain.Error{ // which is no failure that the log should tell of
			Kind: domain.ErrUnavailable, Code: domain.CodeUnavailable, Message: "the service is about to stop",
		})
		return nil
	}
	if err := h.check(c.Request.Context()); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, healthBody{Status: "ready"})
}

func (h *Health) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := h.ping(ctx); err != nil {
		return domain.Unavailable(err)
	}
	return nil
}

// pingTimeout is how long the store may think about a ping.
const pingTimeout = 2 * time.Second

type healthBody struct {
	Status string `json:"status"`
}
