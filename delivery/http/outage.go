package http

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
)

// outages are the times in which requests fail because of the store: those that read, and those that write, because a
// full disk can be read. Each is the begin in Unix milliseconds, 0 if there is no outage.
type outages struct{ reads, writes atomic.Int64 }

// minOutage is the length from which the end of an outage is logged.
const minOutage = time.Second

// of returns the outage of a request.
func (o *outages) of(c *gin.Context) *atomic.Int64 {
	if IsSafe(c.Request.Method) {
		return &o.reads
	}
	return &o.writes
}

// logRecovery logs the end of an outage, after a request that has used the store. A page with Age and a request that has
// changed nothing have not.
func (a *API) logRecovery(c *gin.Context, s *requestState, status int, now time.Time) {
	outage, reads := a.outages.of(c), IsSafe(c.Request.Method)
	begun := outage.Load()
	if begun == 0 || status >= http.StatusMultipleChoices || c.Writer.Header()["Age"] != nil || !reads && len(s.records) == 0 {
		return
	}
	ended := outage.CompareAndSwap(begun, 0) // otherwise another request has ended it
	if took := now.Sub(time.UnixMilli(begun)); ended && took >= minOutage {
		a.unavailable.Info("the store is available again", zap.Bool("reads", reads), zap.Duration("after", took))
	}
}
