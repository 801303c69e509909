package http_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

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
	for _, value := range []string{"Bearer KEY", "bearer KEY", "BEARER KEY", "bEaReR KEY"} {
		s.expect(t, get("/v1/pets", "Authorization: "+value), ok(`[]`))
	}
	for _, value := range []string{"", "Bearer", "Bearer ", "KEY", "Basic KEY", "Digest KEY", "Bearers KEY", "Bearer\tKEY"} {
		s.expect(t, get("/v1/pets", "Authorization: "+value), missing)
	}
	for _, header := range []string{"X-Api-Key: KEY", "Proxy-Authorization: Bearer KEY", "Cookie: access_token=KEY"} {
		s.expect(t, get("/v1/pets?access_token="+s.key+"&api_key="+s.key, "-Authorization", header), missing)
	}
	for _, value := range []string{"Bearer KEY, Bearer KEY", "Bearer KEY x", `Bearer "KEY"`, "Bearer x", "Bearer ä", "Bearer " + strings.Repeat("0", 10_000)} {
		s.expect(t, get("/v1/pets", "Authorization: "+value), invalid)
	}
	for _, first := range []string{"Bearer KEY", "Basic x"} {
		s.expect(t, get("/v1/pets", "Authorization: "+first, "Authorization: Bearer KEY"), invalid)
	}
}

func TestEveryOperationRequiresAPIKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, r := range documentedOperations(t) {
		for _, method := range []string{r.method, http.MethodHead} {
			if r.method == http.MethodPost && method == http.MethodHead {
				continue
			}
			s.expect(t, newRequest(method, r.path, "-Authorization"), wantResponse{status: 401}.withHeader(bearerChallenge))
			s.expect(t, newRequest(method, r.path, "Authorization: Bearer "+apikey.Generate()), wantResponse{status: 401}.withHeader(invalidTokenChallenge))
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestReadOnlyKeyMayOnlyRead(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(1000, time.Minute))
	s.createPets(t, newPets(1, domain.PetAvailable)...)
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	readOnly := "Authorization: Bearer " + s.createReadOnlyKey(t)
	for range 2 { // also when the key is cached
		for _, r := range documentedOperations(t) {
			r.header = append(r.header, readOnly)
			if r.method == http.MethodPost {
				forbidden := rejected(403, "forbidden", "created without --read-only").withHeader(scopeChallenge, `RateLimit-Policy: "default";q=1000;w=60`)
				s.expect(t, r, forbidden)
				continue
			}
			s.expect(t, r, wantResponse{status: 200})
			s.expect(t, newRequest(http.MethodHead, r.path, readOnly), wantResponse{status: 200})
			s.expect(t, newRequest(http.MethodOptions, r.path, readOnly), wantResponse{status: 204})
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":7,"status":"pending"}]`))
	s.expect(t, get("/v1/pets/2", readOnly), rejected(404, "pet_not_found"))
	if err := s.keys.Revoke(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	s.expect(t, postPet(newRex, readOnly), rejected(401, "invalid_api_key"))
}

func TestAuthenticatorNamesCallerOrForbids(t *testing.T) {
	t.Parallel()
	s, engine := newUnstartedServer(t), gin.New()
	engine.Use(func(c *gin.Context) { c.Set("user", c.GetHeader("From")) })
	s.challenge = `Basic realm="team"`
	s.startHost(t, engine, s.api(t, withAuthenticator(func(c *gin.Context) (string, error) {
		switch user := c.GetString("user"); user {
		case "guest":
			return "", fmt.Errorf("authenticate: %w", domain.Forbidden("guests are not allowed"))
		case "":
			c.Header("WWW-Authenticate", `Basic realm="team"`)
			return "", apikey.Missing()
		default:
			return user, nil
		}
	})))
	const ann, bob, one = "From: ann", "From: bob", "Idempotency-Key: one"
	for _, r := range documentedOperations(t) {
		s.expect(t, newRequest(r.method, r.path, "From: guest"), rejected(403, "forbidden", "guests are not allowed").withoutText("authenticate"))
	}
	s.expect(t, postPet(newRex), rejected(401, "missing_api_key"))
	s.expect(t, postPet(newRex, one, ann), created(createdRex).withHeader(notReplayed))
	s.expect(t, postPet(newRex, one, bob), created(`{"id":2,"name":"Rex","categoryId":7}`).withHeader(notReplayed))
	s.expect(t, postPet(newRex, one, ann), created(createdRex).withHeader(replayed))
	if lines := s.accessLog(t); lines[len(lines)-1]["caller"] != "ann" {
		t.Errorf("got access log %v, want caller ann in its last line", lines)
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
	s.expect(t, get("/v1/pets"), rejected(403, "forbidden").withHeader(`RateLimit: "default";r=0;t=60`, "-WWW-Authenticate"))
}

func TestUnauthorizedResponseHasOnlyChallengeOfAuthenticator(t *testing.T) {
	t.Parallel()
	for code, err := range map[string]error{"missing_api_key": nil, "invalid_api_key": apikey.Invalid()} { // nil: a caller without a name
		for header, challenge := range map[string]string{"-WWW-Authenticate": "", `WWW-Authenticate: Basic realm="team"`: `Basic realm="team"`} {
			s := newTestServer(t, withAuthenticator(func(c *gin.Context) (string, error) {
				if challenge != "" {
					c.Header("WWW-Authenticate", challenge)
				}
				return "", err
			}))
			s.expectDocumented(t, get("/v1/nothing"), rejected(404, "not_found").withHeader("-WWW-Authenticate"))
			s.expectOnly(t, get("/v1/pets"), rejected(401, code).withHeader(header))
		}
	}
}

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
