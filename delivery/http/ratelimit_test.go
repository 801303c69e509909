package http_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain/apikey"
)

// limited returns a response with the header fields of a limit of 3 requests per minute.
func limited(want wantResponse, remaining, window int) wantResponse {
	return want.withHeader(`RateLimit-Policy: "default";q=3;w=60`, fmt.Sprintf(`RateLimit: "default";r=%d;t=%d`, remaining, window))
}

// rateLimited returns a 429 of the same limit. Retry-After is not earlier than the end of the effective
// window (draft-ietf-httpapi-ratelimit-headers-11, section 6).
func rateLimited(retryAfter int) wantResponse {
	return limited(rejected(429, "rate_limited"), 0, retryAfter).withHeader("Retry-After: " + strconv.Itoa(retryAfter))
}

func TestRateLimitAllowsRequestsPerWindow(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(3, time.Minute))
	s.expect(t, get("/v1/pets"), limited(ok(`[]`), 2, 20))
	s.expect(t, postPet(newRex), limited(created(""), 1, 20))
	s.expect(t, get("/v1/pets/42"), limited(rejected(404, "pet_not_found"), 0, 20))
	for _, window := range []int{20, 1} {
		s.expect(t, get("/v1/pets"), rateLimited(window))
		s.clock.advance(19 * time.Second)
	}
	s.expect(t, get("/v1/pets"), limited(ok(""), 0, 2))
	s.clock.advance(24 * time.Hour)
	s.expect(t, newRequest("HEAD", "/v1/store/orders"), limited(wantResponse{status: 200}, 2, 20))
}

func TestRateLimitCountsRequestsOfEachCaller(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(3, time.Minute))
	for _, r := range []request{
		get("/v1/pets", "-Authorization"), get("/v1/pets", "Authorization: Bearer x"), get("/v1/nothing"), newRequest("DELETE", "/v1/pets"),
		newRequest("OPTIONS", "/v1/pets"), get("/livez"), get("/v1/pets/1", "-Authorization"), newRequest("OPTIONS", "/v1/pets/1"),
	} {
		s.expect(t, r, wantResponse{}.withHeader("-RateLimit", "-RateLimit-Policy"))
	}
	readOnly := "Authorization: Bearer " + newKey(t, s.keys, apikey.ReadOnly)
	s.expect(t, postPet(newRex, readOnly), limited(rejected(403, "forbidden"), 2, 20))
	s.expect(t, get("/v1/pets", readOnly), limited(ok(`[]`), 1, 20))
	s.expect(t, get("/v1/pets?limit=0", readOnly), limited(rejected(400, "invalid_parameter"), 0, 20))
	for _, r := range []request{postPet(newRex, readOnly), postPet(newRex, readOnly, "Content-Type: text/plain"), get("/v1/pets?limit=0", readOnly)} {
		s.expect(t, r, rateLimited(20))
	}
	s.expect(t, get("/v1/pets/none", readOnly), rateLimited(20).withHeader(deprecationHeaders("none")...))
	s.expect(t, postPet(newRex, "Content-Type: text/plain"), limited(rejected(415, "unsupported_media_type"), 2, 20))
	s.clock.set(sunset)
	for range 3 {
		s.expect(t, newRequest("HEAD", "/v1/pets/1"), wantResponse{status: 410})
	}
	series := s.scrape(t)
	maps.DeleteFunc(series, func(name, _ string) bool { return !strings.Contains(name, "key_id") })
	want := map[string]string{
		`petstore_http_deprecated_requests_total{key_id="1"}`:   "3", // requests after the sunset count, too
		`petstore_http_deprecated_requests_total{key_id="2"}`:   "1", // a request above the rate limit counts, too
		`petstore_http_rate_limited_requests_total{key_id="2"}`: "4",
	}
	if diff := cmp.Diff(want, series); diff != "" {
		t.Errorf("series of keys (-want +got):\n%s", diff)
	}
}
