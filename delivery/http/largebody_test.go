package http_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// The body is not sent. The first response must be the error, not 100 Continue.
func TestDeclaredLargeBodyIsRejectedFromHeader(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	start := time.Now()
	stop, served := s.serve(t, s.engine(t, nil), longTimeouts)
	tooLarge := rejected(413, "body_too_large", "65536")
	for _, size := range []int{64<<10 + 1, 1 << 30} {
		for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
			header := fmt.Sprintf("%sContent-Length: %d", expect, size)
			for _, tc := range []struct {
				data string
				want wantResponse
			}{
				{s.rawPost(header, ""), tooLarge},
				{strings.Replace(s.rawPost(header, ""), s.key, "unknown", 1), rejected(401, "invalid_api_key")},
				{strings.Replace(s.rawPost(header, ""), "application/json", "text/plain", 1), rejected(415, "unsupported_media_type")},
			} {
				t.Run(fmt.Sprintf("%d bytes %s%d", size, expect, tc.want.status), func(t *testing.T) {
					conn := s.dial(t, tc.data)
					s.expectFrom(t, conn, tc.want)
					conn.Close()
				})
			}
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > longTimeouts.Read/2 {
		t.Errorf("the responses took %s, want them before the body", took)
	}
}

func TestConnectionIsClosedAfterDeclaredLargeBody(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	_, _ = s.serve(t, s.engine(t, nil), longTimeouts)
	for _, header := range []string{"Content-Length: 65537", "Content-Length: 1000000000", "Expect: 100-continue\r\nContent-Length: 65537"} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			conn := s.dial(t, s.rawPost(header, "{"))
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > longTimeouts.Read/2 {
				t.Errorf("the connection was closed after %s, want it closed with the response", took)
			}
		})
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
	start := time.Now()
	_, _ = s.serve(t, s.engine(t, nil), longTimeouts)
	const size = 64<<10 + 1
	conn := s.dial(t, s.rawPost("Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat("x", size))))
	s.expectFrom(t, conn, rejected(413, "body_too_large"))
	if took := time.Since(start); took > longTimeouts.Read/2 {
		t.Errorf("the response took %s, want it before the rest of the body", took)
	}
}
