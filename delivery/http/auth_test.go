package http_test

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

const (
	bearerChallenge       = `WWW-Authenticate: Bearer realm="petstore"`
	invalidTokenChallenge = `WWW-Authenticate: Bearer realm="petstore", error="invalid_token"`
	scopeChallenge        = `WWW-Authenticate: Bearer realm="petstore", error="insufficient_scope"`
)

func TestAPIKeyIsReadOnlyFromAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	missing := rejected(401, "missing_api_key").withHeader(bearerChallenge)
	invalid := rejected(401, "invalid_api_key").withHeader(invalidTokenChallenge)
	for want, values := range map[*wantResponse][]string{
		{status: 200, body: `[]`}: {"Bearer KEY", "bearer KEY", "bEaReR KEY"},
		&missing:                  {"", "Bearer", "Bearer ", "KEY", "Basic KEY", "Bearers KEY", "Bearer\tKEY"},
		&invalid:                  {"Bearer KEY, Bearer KEY", "Bearer KEY x", `Bearer "KEY"`, "Bearer x", "Bearer ä", "Bearer " + strings.Repeat("0", 10_000)},
	} {
		for _, value := range values {
			s.expect(t, get("/v1/pets", "Authorization: "+value), *want)
		}
	}
	for _, header := range []string{"X-Api-Key: KEY", "Proxy-Authorization: Bearer KEY", "Cookie: access_token=KEY"} {
		s.expect(t, get("/v1/pets?access_token="+s.key+"&api_key="+s.key, "-Authorization", header), missing)
	}
	for _, first := range []string{"Bearer KEY", "Basic x"} {
		s.expect(t, get("/v1/pets", "Authorization: "+first, "Authorization: Bearer KEY"), invalid)
	}
}

func TestEveryOperationRequiresKeyThatAllowsIt(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(1000, time.Minute))
	s.createPets(t, newPets(1, domain.PetAvailable)...)
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	readOnly, unknown := "Authorization: Bearer "+newKey(t, s.keys.CreateReadOnly), "Authorization: Bearer "+apikey.Generate()
	forbidden := rejected(403, "forbidden", "created without --read-only").withHeader(scopeChallenge, `RateLimit-Policy: "default";q=1000;w=60`)
	for range 2 { // also when the key is cached
		for _, r := range documentedOperations() {
			methods := map[string]wantResponse{r.method: forbidden}
			if r.method == http.MethodGet {
				methods = map[string]wantResponse{"GET": {status: 200}, "HEAD": {status: 200}}
			}
			for method, want := range methods {
				s.expect(t, newRequest(method, r.path, "-Authorization"), wantResponse{status: 401}.withHeader(bearerChallenge))
				s.expect(t, newRequest(method, r.path, unknown), wantResponse{status: 401}.withHeader(invalidTokenChallenge))
				s.expect(t, newRequest(method, r.path, readOnly), want)
			}
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":7,"status":"pending"}]`))
	check(t, s.keys.Revoke(t.Context(), 2))
	s.expect(t, postPet(newRex, readOnly), rejected(401, "invalid_api_key"))
}

func TestAuthenticatorNamesCallerOrRejects(t *testing.T) {
	t.Parallel()
	var challenge, caller string
	var err error
	s := newTestServer(t, withAuthenticator(func(c *gin.Context) (string, error) {
		if challenge != "" {
			c.Header("WWW-Authenticate", challenge)
		}
		return caller, err
	}))
	s.expectOnly(t, get("/v1/pets"), rejected(401, "missing_api_key", "sign in first").withHeader("-WWW-Authenticate"))
	err = apikey.Invalid()
	s.expectOnly(t, get("/v1/pets"), rejected(401, "invalid_api_key").withHeader("-WWW-Authenticate"))
	challenge = `Basic realm="team"`
	s.expect(t, get("/v1/pets"), rejected(401, "invalid_api_key").withHeader(`WWW-Authenticate: Basic realm="team"`))
	challenge, err = "", fmt.Errorf("authenticate: %w", domain.Forbidden("guests are not allowed"))
	for _, r := range documentedOperations() {
		s.expect(t, r, rejected(403, "forbidden", "guests are not allowed").withoutText("authenticate").withHeader("-WWW-Authenticate"))
	}
	err = nil
	const one = "Idempotency-Key: one"
	for _, test := range []struct {
		caller string
		want   wantResponse
	}{
		{"ann", created(createdRex).withHeader(notReplayed)},
		{"bob", created(`{"id":2,"name":"Rex","categoryId":7}`).withHeader(notReplayed)},
		{"ann", created(createdRex).withHeader(replayed)},
	} {
		caller = test.caller
		s.expect(t, postPet(newRex, one), test.want)
	}
}

func TestRequestWithoutItsStateIsRejected(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	replaceContext := func(c *gin.Context) { c.Request = c.Request.WithContext(t.Context()) }
	inMiddleware := s.api(t, withAuthenticator(func(*gin.Context) (string, error) { return "ann", nil }))
	s.startHost(t, gin.New(), inMiddleware, replaceContext)
	s.expect(t, postPet(newRex, "Idempotency-Key: 1"), rejected(500, "internal_error"))
	var err error
	inAuthenticator := s.api(t, withRateLimit(1, time.Minute), withAuthenticator(func(c *gin.Context) (string, error) { replaceContext(c); return "ann", err }))
	s.startHost(t, gin.New(), inAuthenticator)
	s.expect(t, postPet(newRex, "Idempotency-Key: 1"), rejected(500, "internal_error"))
	err = domain.Forbidden("not allowed")
	s.expect(t, get("/v1/pets"), rejected(403, "forbidden").withHeader(`RateLimit: "default";r=0;t=60`))
}

// limited returns a response with the headers of a limit of 3 requests per minute.
func limited(want wantResponse, remaining, window int) wantResponse {
	return want.withHeader(`RateLimit-Policy: "default";q=3;w=60`, fmt.Sprintf(`RateLimit: "default";r=%d;t=%d`, remaining, window))
}

// rateLimited is a 429 of the same limit. Retry-After is not earlier than the end of the
// effective window (draft-ietf-httpapi-ratelimit-headers-11, section 6).
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
	readOnly := "Authorization: Bearer " + newKey(t, s.keys.CreateReadOnly)
	s.expect(t, postPet(newRex, readOnly), limited(rejected(403, "forbidden"), 2, 20))
	s.expect(t, get("/v1/pets", readOnly), limited(ok(`[]`), 1, 20))
	s.expect(t, get("/v1/pets?limit=0", readOnly), limited(rejected(400, "invalid_parameter"), 0, 20))
	for _, r := range []request{postPet(newRex, readOnly), postPet(newRex, readOnly, "Content-Type: text/plain"), get("/v1/pets?limit=0", readOnly)} {
		s.expect(t, r, rateLimited(20))
	}
	s.expect(t, get("/v1/pets/none", readOnly), rateLimited(20).withHeader(deprecationHeaders...))
	s.expect(t, postPet(newRex, "Content-Type: text/plain"), limited(rejected(415, "unsupported_media_type"), 2, 20))
	s.clock.set(sunset)
	for range 3 {
		s.expect(t, newRequest("HEAD", "/v1/pets/1"), wantResponse{status: 410})
	}
	series := s.scrape(t)
	maps.DeleteFunc(series, func(name, _ string) bool { return !strings.Contains(name, "key_id") })
	want := map[string]string{
		`petstore_http_deprecated_requests_total{key_id="1"}`:   "3", // also after the removal
		`petstore_http_deprecated_requests_total{key_id="2"}`:   "1", // also above the rate limit
		`petstore_http_rate_limited_requests_total{key_id="2"}`: "4",
	}
	if diff := cmp.Diff(want, series); diff != "" {
		t.Errorf("series of keys (-want +got):\n%s", diff)
	}
}
