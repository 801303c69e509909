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

// WithRateLimit limits each caller to a number of requests per window, with a token bucket
// that is full at first and refills evenly. Requests above the limit are rejected with 429.
// By default, and with 0 requests, there is no limit. New returns an error for a negative
// number of requests and for a window that is not a positive number of whole seconds.
func WithRateLimit(requests int, window time.Duration) Option {
	return func(a *API) {
		a.limits = nil
		if requests != 0 {
			a.limits = newRateLimits(requests, window)
		}
	}
}

// maxCallers is the maximum number of token buckets. Above it, the bucket of a caller with few
// requests is dropped, also of a recent one: its next request gets a full bucket.
const maxCallers = 10_000

// maxRequests is the largest integer of a structured field such as RateLimit-Policy (RFC
// 9651, section 3.3.1).
const maxRequests = 999_999_999_999_999

// rateLimits are the token buckets of the callers.
type rateLimits struct {
	requests int
	window   time.Duration
	policy   string // the value of RateLimit-Policy
	buckets  *otter.Cache[string, *rate.Limiter]
}

func newRateLimits(requests int, window time.Duration) *rateLimits {
	return &rateLimits{
		requests: requests,
		window:   window,
		policy:   fmt.Sprintf(`"default";q=%d;w=%d`, requests, window/time.Second),
		buckets: otter.Must(&otter.Options[string, *rate.Limiter]{ // panics only for invalid options
			MaximumSize: maxCallers,
			Executor:    func(task func()) { task() }, // no goroutine outlives a request
		}),
	}
}

// validate returns an error for an invalid limit.
func (l *rateLimits) validate() error {
	if 0 < l.requests && int64(l.requests) <= maxRequests && l.window >= time.Second && l.window%time.Second == 0 {
		return nil
	}
	return fmt.Errorf("rest.New: WithRateLimit was given %d requests in %v: use 0 (no limit) to %d requests and a window of whole seconds, at least 1s",
		l.requests, l.window, int64(maxRequests))
}

// take takes a token from the bucket of the caller. It reports whether there was one, and
// the remaining tokens, including the fraction of the next one.
func (l *rateLimits) take(caller string, now time.Time) (allowed bool, remaining float64) {
	bucket, known := l.buckets.GetIfPresent(caller)
	if !known {
		full := rate.NewLimiter(rate.Limit(float64(l.requests)/l.window.Seconds()), l.requests)
		bucket, _ = l.buckets.SetIfAbsent(caller, full)
	}
	return bucket.AllowN(now, 1), bucket.TokensAt(now)
}

// limitRate sets RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11), and
// ends a request above the limit of its caller with an errRateLimited. Retry-After and the
// effective window t, in which the caller can use no more than the remaining requests, end
// with the next token (sections 4.1.2 and 6).
func (a *API) limitRate(c *gin.Context) {
	allowed, remaining := a.limits.take(stateOf(c).caller, a.now())
	requests, fraction := math.Modf(remaining)
	window := a.limits.refillSeconds(1 - fraction)
	c.Header("RateLimit-Policy", a.limits.policy)
	c.Header("RateLimit", `"default";r=`+strconv.Itoa(int(requests))+";t="+window)
	if allowed {
		return
	}
	c.Header("Retry-After", window)
	a.countByCaller(a.metrics.rateLimited, c)
	a.Fail(c, &domain.Error{Kind: errRateLimited, Code: codeRateLimited, Message: "too many requests, try again later"})
}

// refillSeconds returns the time in which the tokens are refilled, rounded up to seconds.
func (l *rateLimits) refillSeconds(tokens float64) string {
	return strconv.Itoa(int(math.Ceil(tokens * l.window.Seconds() / float64(l.requests))))
}
