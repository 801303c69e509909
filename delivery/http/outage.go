package http

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
)

// outages are the times in which the store could not be read or written. They have an entry of their own each: a full disk
// can be read.
type outages struct{ reads, writes outage }

// An outage has begun at a time in Unix milliseconds, 0 if there is none.
type outage struct{ begun atomic.Int64 }

// minOutage is the length from which the end of an outage is logged.
const minOutage = time.Second

// of returns the outage of a request.
func (o *outages) of(c *gin.Context) *outage {
	if isRead(c) {
		return &o.reads
	}
	return &o.writes
}

// begin begins an outage with a request that failed, unless it has begun.
func (o *outage) begin() { o.begun.CompareAndSwap(0, time.Now().UnixMilli()) }

// end ends an outage with a request that succeeded. It returns how long the outage was.
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
	if status >= http.StatusMultipleChoices || c.Writer.Header()["Age"] != nil || !isRead(c) && len(s.records) == 0 {
		return
	}
	if took := a.outages.of(c).end(now); took >= minOutage {
		a.unavailable.Info("the store is available again", zap.Bool("reads", isRead(c)), zap.Duration("after", took))
	}
}

func isRead(c *gin.Context) bool {
	return c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead
}
