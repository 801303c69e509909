package http

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
)

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
		return "health"
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
