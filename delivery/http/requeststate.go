package http

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/domain"
)

// A requestState is what the middleware stores for a request. It is also the context of
// the request, so that both take one allocation.
type requestState struct {
	deadline
	id      [1]string     // the X-Request-Id, as a value of http.Header
	caller  string        // empty before authentication
	lineage int64         // of the API key, 0 for a caller that the host's Authenticator returned
	failure *domain.Error // that was sent
	health  bool          // of a health check
	level   zapcore.Level // of the access log
	stream  bool          // the response takes as long as the client wants
}

// scope returns the scope of the caller's idempotency keys: the lineage of its API key, which keeps a
// retry with a rotated key from creating a second record. The name of another caller has a colon
// before it, so that it is equal to no lineage.
func (s *requestState) scope() string {
	if s.lineage != 0 {
		return strconv.FormatInt(s.lineage, 10)
	}
	return ":" + s.caller
}

type stateKey struct{}

// Value implements context.Context.
func (s *requestState) Value(key any) any {
	if key == (stateKey{}) {
		return s
	}
	return s.deadline.Value(key)
}

// stateOf returns the state of a request, an empty one for a request that did not pass
// beginRequest.
func stateOf(c *gin.Context) *requestState {
	if s := storedState(c); s != nil {
		return s
	}
	return &requestState{}
}

// storedState returns the state of a request, or nil for one that did not pass beginRequest, or whose
// context the host has replaced by one that is not derived from it.
func storedState(c *gin.Context) *requestState {
	s, _ := c.Request.Context().Value(stateKey{}).(*requestState)
	return s
}

var (
	noStore = []string{"no-store"}
	noSniff = []string{"nosniff"}
)

// beginRequest creates the state of a request, starts its deadline, and sets the headers of
// every response. A handler may replace the values of these headers but must not modify
// them, because all requests share them.
func (a *API) beginRequest(c *gin.Context) {
	start := time.Now()
	a.metrics.inFlight.Inc()
	s := &requestState{deadline: deadline{Context: c.Request.Context(), at: start.Add(a.timeout)}}
	if c.Request.ContentLength != 0 {
		a.setReadDeadline(c, s.at)
	}
	s.id[0] = requestID(c.Request.Header)
	defer a.endRequest(c, s, start) // also if a panic closes the connection
	header := c.Writer.Header()
	header["Cache-Control"] = noStore
	header["X-Content-Type-Options"] = noSniff
	header["X-Request-Id"] = s.id[:]
	c.Request = c.Request.WithContext(s)
	c.Next()
}

// endRequest records the request in the metrics and in the access log.
func (a *API) endRequest(c *gin.Context, s *requestState, start time.Time) {
	duration := time.Since(start)
	s.end()
	a.metrics.inFlight.Dec()
	route, method, status := routeOf(c), methodOf(c), c.Writer.Status()
	if a.measured && !s.stream {
		a.metrics.observe(route, method, status, duration)
	}
	// log.Check would read the clock again.
	entry := a.log.Core().Check(zapcore.Entry{
		LoggerName: a.log.Name(), Level: s.level, Time: start.Add(duration), Message: "request",
	}, nil)
	if entry == nil {
		return
	}
	fields := &accessLogEntry{
		requestID: s.id[0], method: method, route: route, status: status, failure: s.failure, debug: a.log.Core().Enabled(zap.DebugLevel),
		duration: duration, callerField: a.callerField, caller: s.caller, client: clientIP(c),
	}
	if route == "" {
		fields.path = loggedPath(c.Request.URL)
	}
	if a.trace != nil {
		fields.traceID = traceID(s)
	}
	entry.Write(zap.Inline(fields))
}

var clientRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID returns the X-Request-Id of the client if it is valid and no API key, which
// must not be logged, else 128 random bits.
func requestID(header http.Header) string {
	values := header["X-Request-Id"]
	if len(values) > 0 && clientRequestID.MatchString(values[0]) && !apiKeyPattern.MatchString(values[0]) {
		return values[0]
	}
	var bits [16]byte
	binary.NativeEndian.PutUint64(bits[:8], rand.Uint64()) //nolint:gosec // an id is not a secret
	binary.NativeEndian.PutUint64(bits[8:], rand.Uint64()) //nolint:gosec // an id is not a secret
	return hex.EncodeToString(bits[:])
}

// A deadline is the context of a request with a deadline. Its timer is created by the
// first call of Done or Deadline, which a response from the page cache does not need.
// Before that, Err does not report that the deadline has passed.
type deadline struct {
	context.Context // that of net/http
	at              time.Time
	timed           atomic.Pointer[timedContext]
}

type timedContext struct {
	context.Context
	cancel context.CancelFunc
}

// startTimer returns the context with a timer, which the first call creates.
func (d *deadline) startTimer() context.Context {
	if timed := d.timed.Load(); timed != nil {
		return timed
	}
	ctx, cancel := context.WithDeadline(d.Context, d.at)
	if timed := (&timedContext{ctx, cancel}); d.timed.CompareAndSwap(nil, timed) {
		return timed
	}
	cancel() // a concurrent call created it
	return d.timed.Load()
}

// end stops the timer if it was created.
func (d *deadline) end() {
	if timed := d.timed.Load(); timed != nil {
		timed.cancel()
	}
}

func (d *deadline) Deadline() (time.Time, bool) { return d.startTimer().Deadline() }
func (d *deadline) Done() <-chan struct{}       { return d.startTimer().Done() }

// Err implements context.Context. It does not create the timer.
func (d *deadline) Err() error {
	if timed := d.timed.Load(); timed != nil {
		return timed.Err()
	}
	return d.Context.Err()
}

// Value implements context.Context. It uses the context with the timer if there is one, so
// that package context needs no goroutine for a context derived from this one.
func (d *deadline) Value(key any) any {
	if timed := d.timed.Load(); timed != nil {
		return timed.Value(key)
	}
	return d.Context.Value(key)
}
