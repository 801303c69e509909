package http

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// A requestState is what the middleware and the handlers of a request share.
type requestState struct {
	id         [1]string     // the request id in the log, as a value of http.Header
	deadline   time.Time     // the deadline for reading the body; zero without a body, and once readBody has read it
	caller     string        // empty before authentication
	lineage    int64         // the lineage of the API key, 0 for a caller that the host's Authenticator returned
	ignored    []string      // Options.IgnoredParameters
	required   apikey.Scope  // the scope that the operation requires of an API key
	deprecated bool          // the operation is getPet
	records    []int64       // the ids of the records that were created, changed or removed
	failure    *domain.Error // the error that was sent, or nil
	level      zapcore.Level // the level of the line in the access log
	stream     bool          // the response is a stream, which ends when the client wants
}

// scope returns the scope of the caller's idempotency keys. With an API key it is the lineage of the key, so that a
// retry with a rotated key does not create a second record. The prefixes keep the scopes of API keys, of the users of a
// host and of its Go code apart.
func (s *requestState) scope() string {
	if s.lineage != 0 {
		return "key:" + strconv.FormatInt(s.lineage, 10)
	}
	return "user:" + s.caller
}

// stateKey is the key of a gin.Context for the state of a request.
type stateKey struct{}

// stateOf returns the state of a request. For a request that did not pass beginRequest it returns an empty state.
func stateOf(c *gin.Context) *requestState {
	if value, ok := c.Get(stateKey{}); ok {
		if s, ok := value.(*requestState); ok {
			return s
		}
	}
	return &requestState{}
}

var (
	noStore = []string{"no-store"}
	noSniff = []string{"nosniff"}
)

// beginRequest creates the state of a request, and sets the headers of every response. A handler may replace
// the values of these headers but must not modify them, because all requests share them.
func (a *API) beginRequest(c *gin.Context) {
	start := time.Now()
	a.metrics.inFlight.Inc()
	s := &requestState{ignored: a.ignored}
	if c.Request.ContentLength != 0 {
		s.deadline = start.Add(a.timeout)
		a.setReadDeadline(c, s.deadline)
	}
	defer a.endRequest(c, s, start) // also if a panic closes the connection
	header := c.Writer.Header()
	header["Cache-Control"] = noStore
	header["X-Content-Type-Options"] = noSniff
	if id := header.Get("X-Request-Id"); id != "" { // set by the host
		s.id[0] = hideKeys(id)
	} else {
		s.id[0] = requestID(c.Request.Header)
		header["X-Request-Id"] = s.id[:]
	}
	c.Set(stateKey{}, s)
	c.Next()
}

// endRequest records the request in the metrics and in the access log.
func (a *API) endRequest(c *gin.Context, s *requestState, start time.Time) {
	duration := time.Since(start)
	a.metrics.inFlight.Dec()
	route, method, status := routeOf(c), methodOf(c), c.Writer.Status()
	if a.measured && !s.stream {
		// All requests without a route share one label value, so that clients cannot create time series.
		a.metrics.duration.WithLabelValues(cmp.Or(route, "unmatched"), method, strconv.Itoa(status)).Observe(duration.Seconds())
	}
	if route != "" {
		a.logRecovery(c, s, status, start.Add(duration))
	}
	// log.Check would read the clock again.
	entry := a.log.Core().Check(zapcore.Entry{
		LoggerName: a.log.Name(), Level: s.level, Time: start.Add(duration), Message: "request",
	}, nil)
	if entry == nil {
		return
	}
	fields := &accessLogEntry{
		requestID: s.id[0], method: method, route: route, status: status, records: s.records, failure: s.failure,
		debug: a.log.Core().Enabled(zap.DebugLevel), duration: duration, callerField: a.callerField, caller: s.caller, client: clientIP(c),
	}
	if route == "" {
		fields.path = loggedPath(c.Request.URL)
	}
	if a.trace != nil {
		fields.traceID = traceID(c.Request.Context())
	}
	entry.Write(zap.Inline(fields))
}

var clientRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID returns the X-Request-Id of the client if it is valid and has no API key, which must not be logged.
// Otherwise it returns 128 random bits.
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
