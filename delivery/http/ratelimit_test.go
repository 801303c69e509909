package http_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/usecase"
)

// left wants the headers of a limit of 3 requests a minute.
func left(remaining, reset int) []string {
	return []string{`RateLimit-Policy: "default";q=3;w=60`, fmt.Sprintf(`RateLimit: "default";r=%d;t=%d`, remaining, reset)}
}

// limited wants a request refused that may come again in so many seconds.
func limited(retryAfter, reset int) want {
	return refused(429, "rate_limited").with(left(0, reset)...).with("Retry-After: " + strconv.Itoa(retryAfter))
}

// ask sends a request and tests its answer, but for the rules of answers without a limit.
func (s *testServer) ask(t *testing.T, r request, w want) {
	t.Helper()
	a, err := s.send(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	a.checkBody(t)
	s.checkContract(t, a)
	a.check(t, w)
}

func TestKeyMayMakeSoManyRequestsInAWindow(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, rest.WithRateLimit(3, time.Minute))
	s.ask(t, get("/v1/pets"), ok(`[]`).with(left(2, 20)...))
	s.ask(t, post(newRex), created("").with(left(1, 40)...))
	s.ask(t, get("/v1/pets/42"), refused(404, "pet_not_found").with(left(0, 60)...))
	s.ask(t, get("/v1/pets"), limited(20, 60))

	s.clock.advance(19 * time.Second)
	s.ask(t, get("/v1/pets"), limited(1, 41))
	s.clock.advance(time.Second)
	s.ask(t, get("/v1/pets"), ok("").with(left(0, 60)...))
	s.ask(t, get("/v1/pets"), limited(20, 60))

	s.clock.advance(24 * time.Hour)
	for _, w := range [][]string{left(2, 20), left(1, 40), left(0, 60)} {
		s.ask(t, send("HEAD", "/v1/store/orders"), want{status: 200}.with(w...))
	}
	s.ask(t, get("/v1/pets"), limited(20, 60))
}

func TestEachKeyHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, rest.WithRateLimit(1, time.Minute))
	other := "Authorization: Bearer " + s.issueKey(t)
	s.ask(t, get("/v1/pets"), ok(`[]`))
	s.ask(t, get("/v1/pets"), refused(429, "rate_limited"))
	s.ask(t, get("/v1/pets", other), ok(`[]`))
	s.ask(t, get("/v1/pets", other), refused(429, "rate_limited"))
}

func TestLimitComesAfterTheKeyAndBeforeTheRest(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := newTestServer(t, rest.WithRateLimit(1, time.Minute), rest.WithMetrics(registry))
	free := []testCase{
		{"no key", get("/v1/pets", "-Authorization"), refused(401, "missing_api_key")},
		{"wrong key", get("/v1/pets", "Authorization: Bearer x"), refused(401, "invalid_api_key")},
		{"no route", get("/v1/nothing"), refused(404, "not_found")},
		{"no method", send("DELETE", "/v1/pets"), refused(405, "method_not_allowed")},
		{"options", send("OPTIONS", "/v1/pets"), want{status: 204}},
		{"health", get("/livez"), ok("")},
	}
	for range 2 {
		for _, e := range free {
			s.ask(t, e.request, e.with("-RateLimit", "-RateLimit-Policy"))
		}
	}
	s.ask(t, get("/v1/pets"), ok(`[]`))
	s.ask(t, post(newRex, "Content-Type: text/plain"), refused(429, "rate_limited"))
	s.ask(t, get("/v1/pets?limit=0"), refused(429, "rate_limited"))
	s.ask(t, get("/v1/pets/none"), refused(429, "rate_limited").with(announced...))
	if got := scrape(t, registry)[`petstore_http_rate_limited_requests_total{key_id="1"}`]; got != "3" {
		t.Errorf("%s requests were counted as limited, want 3", got)
	}
}

func TestNothingIsLimitedByDefault(t *testing.T) {
	t.Parallel()
	for _, options := range [][]rest.Option{nil, {rest.WithRateLimit(0, time.Minute)}, {rest.WithRateLimit(1, time.Minute), rest.WithRateLimit(0, 0)}} {
		s := newTestServer(t, options...)
		for range 3 {
			s.expect(t, get("/v1/pets"), ok(`[]`).with("-RateLimit", "-RateLimit-Policy"))
		}
	}
}

func TestNewRejectsInvalidRateLimit(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	services := rest.Services{
		Pets: usecase.NewPets(s.store, s.store.Pets(), s.clock.now), Orders: usecase.NewOrders(s.store, s.store.Orders(), s.clock.now), Keys: s.keys,
	}
	for _, test := range []struct {
		requests int
		window   time.Duration
		works    bool
	}{
		{0, 0, true},
		{0, -time.Second, true},
		{1, time.Second, true},
		{1, 24 * time.Hour, true},
		{1, math.MaxInt64 / time.Second * time.Second, true},
		{999_999_999_999_999, time.Second, true},
		{1_000_000_000_000_000, 24 * time.Hour, false},
		{math.MaxInt, time.Second, false},
		{-1, time.Minute, false},
		{math.MinInt, time.Minute, false},
		{1, 0, false},
		{1, -time.Minute, false},
		{1, time.Nanosecond, false},
		{1, time.Second - 1, false},
		{1, time.Second + 1, false},
		{1, 1500 * time.Millisecond, false},
		{1, math.MaxInt64, false},
	} {
		_, err := rest.New(services, rest.WithRateLimit(test.requests, test.window))
		if (err == nil) != test.works || err != nil && !strings.HasPrefix(err.Error(), "rest.New: WithRateLimit was given ") {
			t.Errorf("%d requests in %v: got the error %v", test.requests, test.window, err)
		}
	}
}

func TestLimitOfMoreRequestsThanNanosecondsIsCounted(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, rest.WithRateLimit(2_000_000_000, time.Second))
	s.ask(t, get("/v1/pets"), ok(`[]`).with(`RateLimit-Policy: "default";q=2000000000;w=1`, `RateLimit: "default";r=1999999999;t=1`))
	s.ask(t, get("/v1/pets"), ok(`[]`).with(`RateLimit: "default";r=1999999998;t=1`))
}

func TestOfManyRequestsAtOnceOnlySoManyPass(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, rest.WithRateLimit(10, time.Minute))
	var passed, refused atomic.Int32
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			a, err := s.send(t.Context(), get("/v1/pets"))
			switch {
			case err != nil:
				t.Error(err)
			case a.StatusCode == http.StatusOK:
				passed.Add(1)
			case a.StatusCode == http.StatusTooManyRequests:
				refused.Add(1)
			}
		})
	}
	wait.Wait()
	if passed.Load() != 10 || refused.Load() != 54 {
		t.Errorf("%d passed and %d were refused, want 10 and 54", passed.Load(), refused.Load())
	}
}

// However many callers come, the memory for them is bounded: the one who was silent
// longest is forgotten.
func TestOnlySoManyCallersAreRemembered(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine := s.engine(t, nil, defaultServices, rest.WithRateLimit(1, time.Minute),
		rest.WithAuthenticator(func(c *gin.Context) (string, error) { return c.GetHeader("From"), nil }))
	ask := func(caller string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/pets/none", nil)
		r.Header.Set("From", caller)
		answer := httptest.NewRecorder()
		engine.ServeHTTP(answer, r)
		return answer.Code
	}
	for _, want := range []int{404, 429} {
		if got := ask("first"); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	for i := range 10_000 {
		ask(strconv.Itoa(i))
	}
	if last, first := ask("9999"), ask("first"); last != 429 || first != 404 {
		t.Errorf("the last caller got %d, the first one %d, want 429 and 404", last, first)
	}
}
