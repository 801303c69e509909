package http_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

// rateLimitHeaders returns the headers for a limit of 3 requests per minute.
func rateLimitHeaders(remaining, window int) []string {
	return []string{`RateLimit-Policy: "default";q=3;w=60`, fmt.Sprintf(`RateLimit: "default";r=%d;t=%d`, remaining, window)}
}

// rateLimited is a 429 of the same limit. Retry-After is not earlier than the end of the
// effective window (draft-ietf-httpapi-ratelimit-headers-11, section 6).
func rateLimited(retryAfter int) wantResponse {
	return rejected(429, "rate_limited").withHeader(rateLimitHeaders(0, retryAfter)...).withHeader("Retry-After: " + strconv.Itoa(retryAfter))
}

func TestRateLimitAllowsRequestsPerWindow(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(3, time.Minute))
	s.expectDocumented(t, get("/v1/pets"), ok(`[]`).withHeader(rateLimitHeaders(2, 20)...))
	s.expectDocumented(t, postPet(newRex), created("").withHeader(rateLimitHeaders(1, 20)...))
	s.expectDocumented(t, get("/v1/pets/42"), rejected(404, "pet_not_found").withHeader(rateLimitHeaders(0, 20)...))
	s.expectDocumented(t, get("/v1/pets"), rateLimited(20))

	s.clock.advance(19 * time.Second)
	s.expectDocumented(t, get("/v1/pets"), rateLimited(1))
	s.clock.advance(time.Second)
	s.expectDocumented(t, get("/v1/pets"), ok("").withHeader(rateLimitHeaders(0, 20)...))
	s.expectDocumented(t, get("/v1/pets"), rateLimited(20))

	s.clock.advance(24 * time.Hour)
	for _, header := range [][]string{rateLimitHeaders(2, 20), rateLimitHeaders(1, 20), rateLimitHeaders(0, 20)} {
		s.expectDocumented(t, newRequest("HEAD", "/v1/store/orders"), wantResponse{status: 200}.withHeader(header...))
	}
	s.expectDocumented(t, get("/v1/pets"), rateLimited(20))
}

func TestRateLimitAppliesAfterAuthentication(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(1, time.Minute))
	for range 2 {
		for _, r := range []request{
			get("/v1/pets", "-Authorization"), get("/v1/pets", "Authorization: Bearer x"), get("/v1/nothing"), newRequest("DELETE", "/v1/pets"),
			newRequest("OPTIONS", "/v1/pets"), get("/livez"),
		} {
			s.expectDocumented(t, r, wantResponse{}.withHeader("-RateLimit", "-RateLimit-Policy"))
		}
	}
	s.expectDocumented(t, get("/v1/pets"), ok(`[]`))
	s.expectDocumented(t, postPet(newRex, "Content-Type: text/plain"), rejected(429, "rate_limited"))
	s.expectDocumented(t, get("/v1/pets?limit=0"), rejected(429, "rate_limited"))
	s.expectDocumented(t, get("/v1/pets/none"), rejected(429, "rate_limited").withHeader(deprecationHeaders...))
}

func TestForbiddenRequestsCountForTheRateLimit(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(3, time.Minute))
	readOnly := "Authorization: Bearer " + s.createReadOnlyKey(t)
	s.expectDocumented(t, postPet(newRex, readOnly), rejected(403, "forbidden").withHeader(rateLimitHeaders(2, 20)...))
	s.expectDocumented(t, get("/v1/pets", readOnly), ok(`[]`).withHeader(rateLimitHeaders(1, 20)...))
	s.expectDocumented(t, postPet(newRex, readOnly), rejected(403, "forbidden").withHeader(rateLimitHeaders(0, 20)...))
	s.expectDocumented(t, postPet(newRex, readOnly), rateLimited(20))
	s.expectDocumented(t, get("/v1/pets", readOnly), rateLimited(20))
	s.expectDocumented(t, postPet(newRex), created("").withHeader(rateLimitHeaders(2, 20)...))
}

func TestRateLimitIsOffByDefault(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(0, time.Minute))
	for range 3 {
		s.expect(t, get("/v1/pets"), ok(`[]`).withHeader("-RateLimit", "-RateLimit-Policy"))
	}
}

func TestRateLimitAboveOneRequestPerNanosecond(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(2_000_000_000, time.Second))
	s.expectDocumented(t, get("/v1/pets"), ok(`[]`).withHeader(`RateLimit-Policy: "default";q=2000000000;w=1`, `RateLimit: "default";r=1999999999;t=1`))
	s.expectDocumented(t, get("/v1/pets"), ok(`[]`).withHeader(`RateLimit: "default";r=1999999998;t=1`))
}

func TestRateLimitHoldsForConcurrentRequests(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(10, time.Minute))
	var allowed, refused atomic.Int32
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			switch res, err := s.send(t.Context(), get("/v1/pets")); {
			case err != nil:
				t.Error(err)
			case res.StatusCode == http.StatusOK:
				allowed.Add(1)
			case res.StatusCode == http.StatusTooManyRequests:
				refused.Add(1)
			}
		})
	}
	wait.Wait()
	if allowed.Load() != 10 || refused.Load() != 54 {
		t.Errorf("got %d of 200 and %d of 429, want 10 and 54", allowed.Load(), refused.Load())
	}
}

func TestRateLimitIsBoundedInCallers(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine := s.engine(t, nil, withRateLimit(1, time.Minute),
		withAuthenticator(func(c *gin.Context) (string, error) { return c.GetHeader("From"), nil }))
	statusFor := func(caller string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/pets/none", nil)
		r.Header.Set("From", caller)
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, r)
		return w.Code
	}
	for _, want := range []int{404, 429} {
		if got := statusFor("first"); got != want {
			t.Errorf("got status %d, want %d", got, want)
		}
	}
	for i := range 10_000 {
		statusFor(strconv.Itoa(i))
	}
	if last, first := statusFor("9999"), statusFor("first"); last != 429 || first != 404 {
		t.Errorf("got %d for the last caller and %d for the first, want 429 and 404", last, first)
	}
}
