package http

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
)

// outages are the times in which the store cannot be read, and those in which it cannot be written: a full disk can be read.
type outages struct{ reads, writes outage }

// An outage is a time in which requests fail because of the store.
type outage struct{ begun atomic.Int64 } // Unix milliseconds, 0 if there is no outage

// minOutage is the length from which the end of an outage is logged.
const minOutage = time.Second

// of returns the outage of a request.
func (o *outages) of(c *gin.Context) *outage {
	if IsSafe(c.Request.Method) {
		return &o.reads
	}
	return &o.writes
}

// begin begins an outage with a request that failed, unless it has begun.
func (o *outage) begin() { o.begun.CompareAndSwap(0, time.Now().UnixMilli()) }

// end ends an outage with a request that succeeded. It returns how long the outage was, 0 if another request has ended it.
func (o *outage) end(now time.Time) time.Duration {
	begun := o.begun.Load()
	if begun == 0 || !o.begun.CompareAndSwap(begun, 0) {
		return 0
	}
	return now.Sub(time.UnixMilli(begun))
}

// logRecovery logs the end of an outage, after a request that has used the store. A page with Age and a request that has
// changed nothing have not.
func (a *API) logRecovery(c *gin.Context, s *requestState, status int, now time.Time) {
	current, reads := a.outages.of(c), IsSafe(c.Request.Method)
	if current.begun.Load() == 0 || status >= http.StatusMultipleChoices || c.Writer.Header()["Age"] != nil || !reads && len(s.records) == 0 {
		return
	}
	if took := current.end(now); took >= minOutage {
		a.unavailable.Info("the store is available again", zap.Bool("reads", reads), zap.Duration("after", took))
	}
}
