package http_test

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// The API knows the caller of a request even if a host has replaced the context of the request.
func TestContextOfARequestCanBeReplaced(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	replaceContext := func(c *gin.Context) { c.Request = c.Request.WithContext(t.Context()) }
	authenticate := func(c *gin.Context) (caller string, err error) {
		replaceContext(c)
		if caller = c.GetHeader("From"); caller == "guest" {
			err = domain.Forbidden("not allowed")
		}
		return caller, err
	}
	s.startHost(t, gin.New(), s.api(t, withRateLimit(2, time.Minute), withAuthenticator(authenticate)), replaceContext)
	for i, caller := range []string{"From: ann", "From: bob"} {
		for range 2 {
			s.expect(t, postPet(newRex, "Idempotency-Key: 1", caller), created(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, i+1)))
		}
	}
	s.expect(t, get("/v1/pets", "From: guest"), rejected(403, "forbidden").withHeader(`RateLimit: "default";r=1;t=30`))
}

func TestRequestIDOfTheHostIsKept(t *testing.T) {
	t.Parallel()
	s, engine := newUnstartedServer(t), gin.New()
	engine.Use(func(c *gin.Context) { c.Header("X-Request-Id", c.GetHeader("X-Amzn-Trace-Id")) }) // "" deletes it
	s.startHost(t, engine, s.api(t))
	key := apikey.Generate()
	for id, logged := range map[string]string{"Root=1-67/+": "Root=1-67/+", key: "(hidden)", "": "client"} {
		s.log.TakeAll()
		res := s.expectOnly(t, get("/v1/pets", "X-Request-Id: client", "X-Amzn-Trace-Id: "+id), ok(""))
		if sent := res.Header.Values("X-Request-Id"); !slices.Equal(sent, []string{cmp.Or(id, "client")}) {
			t.Errorf("%q: got the header %q, want the id of the host, or that of the client", id, sent)
		}
		if got := s.accessLog(t)[0]["request_id"]; got != logged {
			t.Errorf("%q: got %s in the log, want %s", id, got, logged)
		}
	}
}

func TestRequestIDOfClientIsUsedIfValid(t *testing.T) {
	t.Parallel()
	valid := []string{"a", "0", "A.b_C-9", "..", strings.Repeat("x", 64)}
	seen, generated := map[string]bool{}, regexp.MustCompile("^[0-9a-f]{32}$")
	for _, id := range append(valid, "", "a b", "ä", "a/b", "a:b", "<b>", "a,b", "a\tb", "\xff", strings.Repeat("x", 65), apikey.Generate()) {
		got := rest.RequestID(http.Header{"X-Request-Id": {id}})
		if isValid := slices.Contains(valid, id); (got == id) != isValid || !isValid && !generated.MatchString(got) || seen[got] {
			t.Errorf("%q: got id %q, want the same if it is valid, and else 32 other hexadecimal digits", id, got)
		}
		seen[got] = true
	}
}
