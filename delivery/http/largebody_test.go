package http_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// Only the header is sent. The response must not wait for the body, nor invite it: the
// first response that receive reads must not be 100 Continue.
func TestBodyDeclaredTooLargeIsRefusedFromTheHeader(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	start := time.Now()
	stop, stopped := s.serve(t, s.engine(t, nil, defaultServices), patient)
	tooLarge := refused(413, "body_too_large", "65536")
	for _, size := range []int{64<<10 + 1, 1 << 30} {
		for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
			header := fmt.Sprintf("%sContent-Length: %d", expect, size)
			for _, test := range []struct {
				sent string
				want want
			}{
				{s.begin(header, ""), tooLarge},
				{strings.Replace(s.begin(header, ""), s.key, "unknown", 1), refused(401, "invalid_api_key")},
				{strings.Replace(s.begin(header, ""), "application/json", "text/plain", 1), refused(415, "unsupported_media_type")},
			} {
				t.Run(fmt.Sprintf("%d bytes %s%d", size, expect, test.want.status), func(t *testing.T) {
					conn := s.dial(t, test.sent)
					s.receive(t, conn, test.want)
					conn.Close()
				})
			}
		}
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > patient.Read/2 {
		t.Errorf("the responses took %s: they waited for the body", took)
	}
}

func TestConnectionOfABodyDeclaredTooLargeIsClosed(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	_, _ = s.serve(t, s.engine(t, nil, defaultServices), patient)
	for _, header := range []string{"Content-Length: 65537", "Content-Length: 1000000000", "Expect: 100-continue\r\nContent-Length: 65537"} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			conn := s.dial(t, s.begin(header, "{"))
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > patient.Read/2 {
				t.Errorf("the connection was closed after %s", took)
			}
		})
	}
}

// Many clients send all of a request before they read a byte of the response. They must
// find that there, and no connection that was reset.
func TestClientThatSendsALargeBodyReadsTheResponse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const size = 5 << 20
	declared := s.begin(fmt.Sprintf("Content-Length: %d", size), strings.Repeat("x", size))
	chunked := s.begin("Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, strings.Repeat("x", size)))
	for name, sent := range map[string]string{"declared": declared, "chunked": chunked} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.receive(t, s.dial(t, sent), refused(413, "body_too_large"))
			s.receive(t, s.dial(t, strings.Replace(sent, s.key, "unknown", 1)), refused(401, "invalid_api_key"))
		})
	}
}

func TestChunkedBodyThatExceedsTheLimitIsRefusedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	start := time.Now()
	_, _ = s.serve(t, s.engine(t, nil, defaultServices), patient)
	const size = 64<<10 + 1
	conn := s.dial(t, s.begin("Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat("x", size))))
	s.receive(t, conn, refused(413, "body_too_large"))
	if took := time.Since(start); took > patient.Read/2 {
		t.Errorf("the response took %s: it waited for the rest of the body", took)
	}
}
