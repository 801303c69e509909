package http_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

// A countedBody is a body without an end.
type countedBody struct{ read atomic.Int64 }

func (b *countedBody) Read(p []byte) (int, error) { b.read.Add(int64(len(p))); return len(p), nil }
func (*countedBody) Close() error                 { return nil }

// listenAfter serves the API after a middleware of a host, and in a handler of a host.
func (s *testServer) listenAfter(t *testing.T, middleware gin.HandlerFunc, wrap func(http.Handler) http.Handler) {
	t.Helper()
	engine := gin.New()
	engine.Use(middleware)
	if err := s.api(t).Mount(engine.Group("/v1")); err != nil {
		t.Fatal(err)
	}
	s.start(t, wrap(engine))
}

func TestDiscardOfALargeBodyIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wrap func(http.Handler) http.Handler
		want int64
	}{
		"with read deadlines": {func(h http.Handler) http.Handler { return h }, 16 << 20},
		"without read deadlines": {func(h http.Handler) http.Handler {
			return http.TimeoutHandler(h, 20*time.Second, "too slow")
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, body, done := newUnstartedServer(t), &countedBody{}, make(chan struct{})
			s.listenAfter(t, func(c *gin.Context) {
				defer close(done)
				c.Request.Body = body
				c.Next()
			}, test.wrap)
			s.expectFrom(t, s.dial(t, s.rawPost("Content-Length: 1000000000", "")), rejected(413, "body_too_large"))
			<-done
			if read := body.read.Load(); read != test.want {
				t.Errorf("read %d bytes of the body, want %d", read, test.want)
			}
		})
	}
}

// net/http sends 100 Continue when the body is read.
func TestBodyDeclaredTooLargeIsNotInvitedByATimeoutHandler(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	s.listenAfter(t, func(*gin.Context) {}, func(h http.Handler) http.Handler { return http.TimeoutHandler(h, 20*time.Second, "too slow") })
	s.expectFrom(t, s.dial(t, s.rawPost("Expect: 100-continue\r\nContent-Length: 1073741824", "")), rejected(413, "body_too_large"))
}

// After the end of a body net/http reads on to detect a disconnect.
func TestDiscardLeavesNoDeadlineToAHost(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	ended := make(chan bool, 1)
	s.listenAfter(t, func(c *gin.Context) {
		ctx := c.Request.Context()
		c.Next()
		select {
		case <-ctx.Done():
			ended <- true
		case <-time.After(2500 * time.Millisecond): // more than the deadline of the discard
			ended <- false
		}
	}, func(h http.Handler) http.Handler { return h })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", io.MultiReader()) // in chunks
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = -1
	res, err := s.do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.check(t, rejected(401, "missing_api_key"))
	if <-ended {
		t.Error("the context of the connection ended while a handler of the host ran")
	}
}
