package http_test

import (
	"fmt"
	"net/http"
	"strings"
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
	s.run(t, []testCase{
		{"as published", get("/v1/pets", "Authorization: Bearer KEY"), ok(`[]`)},
		{"scheme in lower case", get("/v1/pets", "Authorization: bearer KEY"), ok(`[]`)},
		{"scheme in upper case", get("/v1/pets", "Authorization: BEARER KEY"), ok(`[]`)},
		{"scheme in mixed case", get("/v1/pets", "Authorization: bEaReR KEY"), ok(`[]`)},

		{"no header", get("/v1/pets", "-Authorization"), missing},
		{"empty header", get("/v1/pets", "Authorization: "), missing},
		{"scheme without key", get("/v1/pets", "Authorization: Bearer"), missing},
		{"scheme and a space", get("/v1/pets", "Authorization: Bearer "), missing},
		{"key without scheme", get("/v1/pets", "Authorization: KEY"), missing},
		{"Basic", get("/v1/pets", "Authorization: Basic KEY"), missing},
		{"Digest", get("/v1/pets", "Authorization: Digest KEY"), missing},
		{"scheme with the prefix Bearer", get("/v1/pets", "Authorization: Bearers KEY"), missing},
		{"tab instead of space", get("/v1/pets", "Authorization: Bearer\tKEY"), missing},
		{"in the query", get("/v1/pets?access_token=KEY&api_key=KEY&key=KEY", "-Authorization"), missing},
		{"in another header", get("/v1/pets", "-Authorization", "X-Api-Key: KEY", "Proxy-Authorization: Bearer KEY"), missing},
		{"in a cookie", get("/v1/pets", "-Authorization", "Cookie: access_token=KEY"), missing},

		{"header twice", get("/v1/pets", "Authorization: Bearer KEY", "Authorization: Bearer KEY"), invalid},
		{"header twice, one Basic", get("/v1/pets", "Authorization: Basic x", "Authorization: Bearer KEY"), invalid},
		{"two keys in one header", get("/v1/pets", "Authorization: Bearer KEY, Bearer KEY"), invalid},
		{"text after the key", get("/v1/pets", "Authorization: Bearer KEY x"), invalid},
		{"quoted key", get("/v1/pets", `Authorization: Bearer "KEY"`), invalid},
	})
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

func TestAPIKeyWithAnyWrongCharacterIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	wrongKeys := []string{
		s.key[:len(s.key)-1], s.key + "0", s.key[1:], strings.ToLower(s.key), strings.ToUpper(s.key), s.key + s.key,
		strings.TrimPrefix(s.key, "petstore_"), "petstore_", "x", "ä", strings.Repeat("0", 10_000),
	}
	for i := range s.key {
		other := "x"
		if s.key[i] == 'x' {
			other = "y"
		}
		wrongKeys = append(wrongKeys, s.key[:i]+other+s.key[i+1:])
	}
	for _, key := range wrongKeys {
		s.expect(t, get("/v1/pets", "Authorization: Bearer "+key), rejected(401, "invalid_api_key").withHeader(invalidTokenChallenge).withoutText(key+"\""))
	}
}

func TestUnknownRevokedAndExpiredKeysGetTheSameResponse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	revoked, expired := s.createKey(t), s.createKey(t)
	s.database.Exec(t, `UPDATE api_keys SET revoked_at = $1 WHERE id = 2`, noon.UnixMilli())
	s.database.Exec(t, `UPDATE api_keys SET expires_at = $1 WHERE id = 3`, noon.UnixMilli())

	invalid := rejected(401, "invalid_api_key").withHeader(invalidTokenChallenge)
	unknown := s.expect(t, get("/v1/pets", "Authorization: Bearer "+apikey.Generate()), invalid)
	for name, key := range map[string]string{"revoked": revoked, "expired": expired, "malformed": "x"} {
		got := s.expect(t, get("/v1/pets", "Authorization: Bearer "+key), invalid)
		if string(got.body) != string(unknown.body) {
			t.Errorf("%s key: got %s, want %s as for an unknown key", name, got.body, unknown.body)
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.clock.set(noon.Add(-time.Millisecond))
	s.expect(t, get("/v1/pets", "Authorization: Bearer "+expired), ok(`[]`))
}

func TestAuthenticatorNamesCaller(t *testing.T) {
	t.Parallel()
	s := newMountedServer(t, "/v1", withAuthenticator(func(c *gin.Context) (string, error) {
		if user, _, ok := c.Request.BasicAuth(); ok {
			return user, nil
		}
		c.Header("WWW-Authenticate", `Basic realm="team"`)
		return "", apikey.Missing()
	}))
	s.challenge = `Basic realm="team"`
	const ann, bob = "Authorization: Basic YW5uOng=", "Authorization: Basic Ym9iOng="
	s.expect(t, postPet(newRex), rejected(401, "missing_api_key"))
	s.expect(t, postPet(newRex, "Idempotency-Key: one", ann), created(`{"id":1,"name":"Rex","categoryId":7}`).withHeader(notReplayed))
	s.expect(t, postPet(newRex, "Idempotency-Key: one", bob), created(`{"id":2,"name":"Rex","categoryId":7}`).withHeader(notReplayed))
	s.expect(t, postPet(newRex, "Idempotency-Key: one", ann), created(`{"id":1,"name":"Rex","categoryId":7}`).withHeader(replayed))
	if lines := s.accessLog(t); lines[len(lines)-1]["caller"] != "ann" {
		t.Errorf("got access log %v, want caller ann in its last line", lines)
	}
}

func TestAuthenticatorReadsContextOfHostAndCanForbid(t *testing.T) {
	t.Parallel()
	s, engine := newUnstartedServer(t), gin.New()
	engine.Use(func(c *gin.Context) { c.Set("user", c.GetHeader("From")) })
	s.startHost(t, engine, s.api(t, withAuthenticator(func(c *gin.Context) (string, error) {
		if user := c.GetString("user"); user != "guest" {
			return user, nil
		}
		return "", fmt.Errorf("authenticate: %w", domain.Forbidden("guests are not allowed"))
	})))
	for _, r := range documentedOperations(t) {
		s.expect(t, newRequest(r.method, r.path, "From: guest"), rejected(403, "forbidden", "guests are not allowed").withoutText("authenticate"))
	}
	s.expect(t, get("/v1/pets", "From: ann"), ok(`[]`))
	lines := s.accessLog(t)
	if last := lines[len(lines)-1]; last["caller"] != "ann" {
		t.Errorf("got access log line %v, want caller ann", last)
	}
}

func TestForbiddenRequestIsRejectedIfTheAuthenticatorReplacesTheContext(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withRateLimit(1, time.Minute), withAuthenticator(func(c *gin.Context) (string, error) {
		c.Request = c.Request.WithContext(t.Context())
		return "ann", domain.Forbidden("not allowed")
	}))
	s.expect(t, get("/v1/pets"), rejected(403, "forbidden").withHeader(`RateLimit: "default";r=0;t=60`, "-WWW-Authenticate"))
}

// Otherwise all callers would share the keys of one.
func TestRequestWithoutItsStateIsRejected(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	replaceContext := func(c *gin.Context) { c.Request = c.Request.WithContext(t.Context()) }
	inMiddleware := s.api(t, withAuthenticator(func(*gin.Context) (string, error) { return "ann", nil }))
	s.startHost(t, gin.New(), inMiddleware, replaceContext)
	s.expect(t, postPet(newRex, "Idempotency-Key: 1"), rejected(500, "internal_error"))
	inAuthenticator := s.api(t, withAuthenticator(func(c *gin.Context) (string, error) { replaceContext(c); return "ann", nil }))
	s.startHost(t, gin.New(), inAuthenticator)
	s.expect(t, postPet(newRex, "Idempotency-Key: 1"), rejected(500, "internal_error"))
}

func TestCallerWithoutNameIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { return "", nil }))
	s.challenge = ""
	s.expect(t, postPet(newRex), rejected(401, "missing_api_key").withHeader("-WWW-Authenticate"))
}

func TestUnauthorizedResponseHasOnlyChallengeOfAuthenticator(t *testing.T) {
	t.Parallel()
	var challenge string
	var err error
	s := newTestServer(t, withAuthenticator(func(c *gin.Context) (string, error) {
		if challenge != "" {
			c.Header("WWW-Authenticate", challenge)
		}
		return "", err
	}))
	for code, failure := range map[string]error{"missing_api_key": apikey.Missing(), "invalid_api_key": apikey.Invalid()} {
		for header, value := range map[string]string{"-WWW-Authenticate": "", `WWW-Authenticate: Basic realm="team"`: `Basic realm="team"`} {
			challenge, err = value, failure
			s.expectDocumented(t, get("/v1/nothing"), rejected(404, "not_found").withHeader("-WWW-Authenticate"))
			s.expectOnly(t, get("/v1/pets"), rejected(401, code).withHeader(header))
		}
	}
}
