package http

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"example.com/petstore/domain"
)

// WithRateLimit gives each caller a bucket of so many requests, full at first, that
// fills evenly within a window of whole seconds. A request that finds it empty is
// answered 429. By default, and with 0 requests, nothing is limited. New returns an
// error for a negative number of requests and for a window of less than a second or of
// a fraction of one.
func WithRateLimit(requests int, window time.Duration) Option {
	return func(a *API) {
		a.limits = nil
		if requests != 0 {
			a.limits = newRateLimits(requests, window)
		}
	}
}

// maxCallers is how many callers are remembered. Beyond that the one who was silent
// longest is forgotten, whose bucket is the first to be full again anyway.
const maxCallers = 10_000

// maxRequests is the largest integer of a structured field, such as RateLimit-Policy
// (RFC 9651, section 3.3.1).
const maxRequests = 999_999_999_999_999

type rateLimits struct {
	requests int
	window   time.Duration
	policy   string
	callers  *lru.Cache[string, *rate.Limiter]
}

func newRateLimits(requests int, window time.Duration) *rateLimits {
	callers, _ := lru.New[string, *rate.Limiter](maxCallers) // fails for no size alone
	return &rateLimits{
		requests: requests,
		window:   window,
		policy:   fmt.Sprintf(`"default";q=%d;w=%d`, requests, window/time.Second),
		callers:  callers,
	}
}

// check returns an error for an invalid limit.
func (l *rateLimits) check() error {
	if 0 < l.requests && int64(l.requests) <= maxRequests && l.window >= time.Second && l.window%time.Second == 0 {
		return nil
	}
	return fmt.Errorf("rest.New: WithRateLimit was given %d requests in %v: give it 0, for no limit, to %d requests and a window of whole seconds, from 1s",
		l.requests, l.window, int64(maxRequests))
}

// take takes a request out of the caller's bucket if there is one. What is left is
// told with the part of the next request that is there already.
func (l *rateLimits) take(caller string, now time.Time) (allowed bool, left float64) {
	bucket, known := l.callers.Get(caller)
	if !known {
		bucket = rate.NewLimiter(rate.Limit(float64(l.requests)/l.window.Seconds()), l.requests)
		if other, known, _ := l.callers.PeekOrAdd(caller, bucket); known {
			bucket = other
		}
	}
	return bucket.AllowN(now, 1), bucket.TokensAt(now)
}

// limitRate lets a request pass that its caller may still make, and tells what is
// left (draft-ietf-httpapi-ratelimit-headers).
func (a *API) limitRate(c *gin.Context) {
	allowed, left := a.limits.take(stateOf(c).caller, a.now())
	c.Header("RateLimit-Policy", a.limits.policy)
	c.Header("RateLimit", `"default";r=`+strconv.Itoa(int(left))+";t="+a.limits.after(float64(a.limits.requests)-left))
	if allowed {
		return
	}
	c.Header("Retry-After", a.limits.after(1-left))
	a.count(a.metrics.rateLimited, c)
	a.Fail(c, &domain.Error{Kind: errRateLimited, Code: codeRateLimited, Message: "too many requests, try again later"})
}

// after tells in how many whole seconds so many requests come back.
func (l *rateLimits) after(requests float64) string {
	return strconv.Itoa(int(math.Ceil(requests * l.window.Seconds() / float64(l.requests))))
}
