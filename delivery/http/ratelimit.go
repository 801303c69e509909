package http

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"example.com/petstore/domain"
)

// A RateLimit limits each caller to a number of requests per window. Each caller has a token bucket, which is full
// at first and refills evenly. Requests above the limit get 429. The zero value is no limit. Window must be a
// positive number of whole seconds.
type RateLimit struct {
	Requests int
	Window   time.Duration
}

// validate returns an error unless Requests is 0, or is 1 to maxRequests and Window is whole seconds, at least one.
func (l RateLimit) validate() error {
	if l.Requests == 0 || 0 < l.Requests && int64(l.Requests) <= maxRequests && l.Window >= time.Second && l.Window%time.Second == 0 {
		return nil
	}
	return fmt.Errorf("Options.RateLimit has %d requests in %v: use 0 (no limit) to %d requests and a window of whole seconds, at least 1s",
		l.Requests, l.Window, int64(maxRequests))
}

// maxCallers is the maximum number of token buckets. Above it, the bucket of a caller with few requests is removed,
// even if its last request was recent. The next request of that caller gets a full bucket.
const maxCallers = 10_000

// maxRequests is the largest integer in a structured field such as RateLimit-Policy (RFC 9651, section 3.3.1).
const maxRequests = 999_999_999_999_999

// callerBuckets are the token buckets of the callers.
type callerBuckets struct {
	limit   rate.Limit
	burst   int
	buckets *otter.Cache[string, *rate.Limiter]
}

func newCallerBuckets(limit rate.Limit, burst int) *callerBuckets {
	return &callerBuckets{limit, burst, otter.Must(&otter.Options[string, *rate.Limiter]{ // panics only for invalid options
		MaximumSize: maxCallers,
		Executor:    func(task func()) { task() }, // no goroutine outlives a request
	})}
}

// of returns the bucket of a caller. A caller that has none gets a full bucket.
func (b *callerBuckets) of(caller string) *rate.Limiter {
	bucket, known := b.buckets.GetIfPresent(caller)
	if !known {
		bucket, _ = b.buckets.SetIfAbsent(caller, rate.NewLimiter(b.limit, b.burst))
	}
	return bucket
}

// rateLimits limit the requests of the callers.
type rateLimits struct {
	RateLimit
	policy string // the value of RateLimit-Policy
	*callerBuckets
}

// newRateLimits returns the rateLimits for a limit, or nil if there is no limit.
func newRateLimits(limit RateLimit) *rateLimits {
	if limit.Requests == 0 {
		return nil
	}
	return &rateLimits{
		RateLimit:     limit,
		policy:        fmt.Sprintf(`"default";q=%d;w=%d`, limit.Requests, limit.Window/time.Second),
		callerBuckets: newCallerBuckets(rate.Limit(float64(limit.Requests)/limit.Window.Seconds()), limit.Requests),
	}
}

// limitRate sets the headers RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11). For a
// request above the limit of its caller it also sets Retry-After, and returns an errRateLimited. Retry-After and
// the parameter t of RateLimit are the seconds until the next token: until then the caller can make only the
// remaining requests (sections 4.1.2 and 6).
func (a *API) limitRate(c *gin.Context) error {
	if a.limits == nil {
		return nil
	}
	bucket, now := a.limits.of(stateOf(c).caller), a.now()
	allowed := bucket.AllowN(now, 1)
	requests, fraction := math.Modf(bucket.TokensAt(now))
	window := strconv.Itoa(int(math.Ceil((1 - fraction) * a.limits.Window.Seconds() / float64(a.limits.Requests))))
	c.Header("RateLimit-Policy", a.limits.policy)
	c.Header("RateLimit", `"default";r=`+strconv.Itoa(int(requests))+";t="+window)
	if allowed {
		return nil
	}
	c.Header("Retry-After", window)
	a.countByCaller(a.metrics.rateLimited, c)
	return &domain.Error{Kind: errRateLimited, Code: codeRateLimited, Message: "too many requests, try again later"}
}
