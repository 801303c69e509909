package http

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"regexp"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// An exchange is what the API knows of a request while it answers it. It is the
// context of the request, too, because one allocation is cheaper than a map.
type requestState struct {
	deadline
	id     [1]string // the X-Request-Id, in the form of http.Header
	caller string    // who makes the request, empty as long as nobody knows
}

type stateKey struct{}

// Value implements context.Context.
func (x *requestState) Value(key any) any {
	if key == (stateKey{}) {
		return x
	}
	return x.deadline.Value(key)
}

// stateOf is the exchange of a request that went through begin, an empty one for any other.
func stateOf(c *gin.Context) *requestState {
	if x, ok := c.Request.Context().Value(stateKey{}).(*requestState); ok {
		return x
	}
	return &requestState{}
}

var (
	noStore = []string{"no-store"}
	noSniff = []string{"nosniff"}
)

// begin starts the exchange, whose deadline is counted from here, and sets what
// every answer carries. A handler may replace a value of these headers but not
// alter it: all requests share them.
func (a *API) begin(c *gin.Context) {
	start := time.Now()
	a.metrics.inFlight.Inc()
	x := &requestState{deadline: deadline{Context: c.Request.Context(), at: start.Add(a.timeout)}}
	if c.Request.ContentLength != 0 {
		a.setReadDeadline(c, x.at)
	}
	x.id[0] = requestID(c.Request.Header)
	defer a.end(c, x, start) // also of a connection that a panic ends
	header := c.Writer.Header()
	header["Cache-Control"] = noStore
	header["X-Content-Type-Options"] = noSniff
	header["X-Request-Id"] = x.id[:]
	c.Request = c.Request.WithContext(x)
	c.Next()
}

// end measures the exchange and writes a line about it.
func (a *API) end(c *gin.Context, x *requestState, start time.Time) {
	took := time.Since(start)
	x.end()
	a.metrics.inFlight.Dec()
	route, method, status := routeOf(c), methodOf(c), c.Writer.Status()
	if a.registerer != nil { // somebody reads it
		a.metrics.measure(route, method, status, took)
	}
	// log.Check would look at the clock once more.
	entry := a.log.Core().Check(zapcore.Entry{
		LoggerName: a.log.Name(), Level: zap.InfoLevel, Time: start.Add(took), Message: "request",
	}, nil)
	if entry == nil {
		return
	}
	line := &access{
		requestID: x.id[0], method: method, route: route, status: status,
		took: took, keyID: x.caller, client: a.client(c),
	}
	if route == "" {
		line.path = loggedPath(c.Request.URL)
	}
	if a.trace != nil {
		line.traceID = traceID(x)
	}
	entry.Write(zap.Inline(line))
}

var clientRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID is the client's own id where that is well formed, else 128 random bits.
func requestID(header http.Header) string {
	if given := header["X-Request-Id"]; len(given) > 0 && clientRequestID.MatchString(given[0]) {
		return given[0]
	}
	var bits [16]byte
	binary.NativeEndian.PutUint64(bits[:8], rand.Uint64()) //nolint:gosec // an id is no secret
	binary.NativeEndian.PutUint64(bits[8:], rand.Uint64()) //nolint:gosec // nor is this half
	return hex.EncodeToString(bits[:])
}
