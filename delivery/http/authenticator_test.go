package http_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

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
	s := newUnstartedServer(t)
	engine := gin.New()
	engine.Use(func(c *gin.Context) { c.Set("user", c.GetHeader("From")) })
	api := s.api(t, withAuthenticator(func(c *gin.Context) (string, error) {
		if user := c.GetString("user"); user != "guest" {
			return user, nil
		}
		return "", fmt.Errorf("authenticate: %w", domain.Forbidden("guests are not allowed"))
	}))
	if err := api.Mount(engine.Group("/v1")); err != nil {
		t.Fatal(err)
	}
	s.start(t, engine)
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
	replaceContext := func(c *gin.Context) { c.Request = c.Request.WithContext(t.Context()) }
	for name, authenticate := range map[string]rest.Authenticator{
		"middleware":    func(*gin.Context) (string, error) { return "ann", nil },
		"Authenticator": func(c *gin.Context) (string, error) { replaceContext(c); return "ann", nil },
	} {
		s := newUnstartedServer(t)
		engine := gin.New()
		var middleware []gin.HandlerFunc
		if name == "middleware" {
			middleware = append(middleware, replaceContext)
		}
		if err := s.api(t, withAuthenticator(authenticate)).Mount(engine.Group("/v1"), middleware...); err != nil {
			t.Fatal(err)
		}
		s.start(t, engine)
		s.expect(t, postPet(newRex, "Idempotency-Key: 1"), rejected(500, "internal_error"))
	}
}

func TestCallerWithoutNameIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { return "", nil }))
	s.challenge = ""
	s.expect(t, postPet(newRex), rejected(401, "missing_api_key").withHeader("-WWW-Authenticate"))
}

func TestUnauthorizedResponseHasOnlyChallengeOfAuthenticator(t *testing.T) {
	t.Parallel()
	for code, err := range map[string]error{
		"missing_api_key": apikey.Missing(),
		"invalid_api_key": apikey.Invalid(),
	} {
		for header, challenge := range map[string]string{"-WWW-Authenticate": "", `WWW-Authenticate: Basic realm="team"`: `Basic realm="team"`} {
			s := newTestServer(t, withAuthenticator(func(c *gin.Context) (string, error) {
				if challenge != "" {
					c.Header("WWW-Authenticate", challenge)
				}
				return "", err
			}))
			s.expectDocumented(t, get("/v1/nothing"), rejected(404, "not_found").withHeader("-WWW-Authenticate"))
			res, err := s.send(t.Context(), get("/v1/pets"))
			if err != nil {
				t.Fatal(err)
			}
			res.check(t, rejected(401, code).withHeader(header))
		}
	}
}
