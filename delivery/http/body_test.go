package http_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

func TestBodyLargerThan64KiBIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	full := newRex + strings.Repeat(" ", 64<<10-len(newRex))
	for body, want := range map[string]wantResponse{full: created(""), full + " ": rejected(413, "body_too_large", "65536")} {
		s.expect(t, postPet(body), want)
		s.expectFrom(t, s.dial(t, s.rawPost("Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))), want)
	}
}

func TestTruncatedBodyIsInvalidJSON(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, data := range []string{
		s.rawPost("Content-Length: 100", newRex), s.rawPost("Content-Length: 100", ""), s.rawPost("Transfer-Encoding: chunked", "4\r\n{\"na"),
	} {
		conn := s.dial(t, data)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		s.expectFrom(t, conn, rejected(400, "invalid_json").withoutText("EOF"))
	}
	s.expectFrom(t, s.dial(t, s.rawPost("Transfer-Encoding: chunked", "x\r\n")), rejected(400, "invalid_json"))
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestConnectionIsReusedAfterErrors(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	conn := s.dial(t, "")
	for range 3 {
		for body, want := range map[string]wantResponse{newRex: created(""), `{`: rejected(400, "invalid_json"), `{}`: rejected(400, "validation_failed")} {
			if _, err := conn.Write([]byte(s.rawPost(fmt.Sprintf("Content-Length: %d", len(body)), body))); err != nil {
				t.Fatal(err)
			}
			s.expectFrom(t, conn, want)
		}
	}
}

// A countedBody is a body without an end.
type countedBody struct{ read atomic.Int64 }

func (b *countedBody) Read(p []byte) (int, error) { b.read.Add(int64(len(p))); return len(p), nil }
func (*countedBody) Close() error                 { return nil }

// listenAfter serves the API after a middleware of a host, and in a handler of a host.
func (s *testServer) listenAfter(t *testing.T, middleware gin.HandlerFunc, wrap func(http.Handler) http.Handler) {
	t.Helper()
	engine := gin.New()
	engine.Use(middleware)
	s.startHost(t, engine, s.api(t))
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
	s.expectFrom(t, s.dial(t, strings.Replace(s.rawPost("Transfer-Encoding: chunked", "0\r\n\r\n"), s.key, "unknown", 1)), rejected(401, "invalid_api_key"))
	if <-ended {
		t.Error("the context of the connection ended while a handler of the host ran")
	}
}

// The body is not sent. The first response must be the error, not 100 Continue, and the connection is
// closed with it.
func TestDeclaredLargeBodyIsRejectedFromHeader(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	s.serve(t, s.engine(t, nil), longTimeouts)
	for _, header := range []string{"Content-Length: 65537", "Content-Length: 1073741824", "Expect: 100-continue\r\nContent-Length: 65537"} {
		data := s.rawPost(header, "")
		for data, want := range map[string]wantResponse{
			data: rejected(413, "body_too_large", "65536"),
			strings.Replace(data, s.key, "unknown", 1):                 rejected(401, "invalid_api_key"),
			strings.Replace(data, "application/json", "text/plain", 1): rejected(415, "unsupported_media_type"),
		} {
			conn := s.dial(t, data)
			s.expectFrom(t, conn, want)
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Errorf("%s, %d: %v, want the end of the connection", header, want.status, err)
			}
		}
	}
}

// A client that reads the response only after it has sent the body must not get a
// connection reset.
func TestClientSendingLargeBodyReadsResponse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const size = 5 << 20
	declared := s.rawPost(fmt.Sprintf("Content-Length: %d", size), strings.Repeat("x", size))
	chunked := s.rawPost("Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, strings.Repeat("x", size)))
	for name, data := range map[string]string{"declared": declared, "chunked": chunked} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.expectFrom(t, s.dial(t, data), rejected(413, "body_too_large"))
			s.expectFrom(t, s.dial(t, strings.Replace(data, s.key, "unknown", 1)), rejected(401, "invalid_api_key"))
		})
	}
}

func TestChunkedBodyOverLimitIsRejectedBeforeEnd(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	s.serve(t, s.engine(t, nil), longTimeouts)
	const size = 64<<10 + 1
	conn := s.dial(t, s.rawPost("Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat("x", size))))
	s.expectFrom(t, conn, rejected(413, "body_too_large"))
}
