package http_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/internal/server"
)

// dial connects to the server and writes data. The server must respond before longTimeouts expire.
func (s *testServer) dial(t *testing.T, data string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	check(t, conn.SetDeadline(time.Now().Add(longTimeouts.Read/2)))
	if _, err := conn.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// rawPost returns the text of a POST of a pet, with the given header lines and body.
func (s *testServer) rawPost(header, body string) string {
	return "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer " + s.key +
		"\r\nContent-Type: application/json\r\n" + header + "\r\n\r\n" + body
}

// chunk returns a body as one chunk. endOfChunk must follow, unless the body has no end.
func chunk(body string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(body), body) }

const (
	chunked    = "Transfer-Encoding: chunked"
	endOfChunk = "0\r\n\r\n"
)

// expectFrom reads the response to a POST of a pet from a connection, and checks it as expect does.
func (s *testServer) expectFrom(t *testing.T, conn net.Conn, want wantResponse) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", nil)
	check(t, err)
	httpResponse, err := http.ReadResponse(bufio.NewReader(conn), req)
	check(t, err)
	res, err := readBody(httpResponse)
	check(t, err)
	s.checkRules(t, res)
	res.check(t, want)
}

func TestBodyLargerThan64KiBIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	full := newRex + strings.Repeat(" ", 64<<10-len(newRex))
	for body, want := range map[string]wantResponse{full: created(""), full + " ": rejected(413, "body_too_large", "65536")} {
		s.expect(t, postPet(body), want)
		s.expectFrom(t, s.dial(t, s.rawPost(chunked, chunk(body)+endOfChunk)), want)
	}
}

func TestTruncatedBodyIsInvalidJSON(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, data := range []string{
		s.rawPost("Content-Length: 100", newRex), s.rawPost("Content-Length: 100", ""), s.rawPost(chunked, "4\r\n{\"na"), s.rawPost(chunked, "x\r\n"),
	} {
		conn := s.dial(t, data)
		check(t, conn.(*net.TCPConn).CloseWrite())
		s.expectFrom(t, conn, rejected(400, "invalid_json").withoutText("EOF"))
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

// A countedBody is a body without an end. It counts the bytes that are read.
type countedBody struct{ read atomic.Int64 }

func (b *countedBody) Read(p []byte) (int, error) { b.read.Add(int64(len(p))); return len(p), nil }
func (*countedBody) Close() error                 { return nil }

// startAfter serves the API behind a middleware of a host.
func (s *testServer) startAfter(t *testing.T, middleware gin.HandlerFunc, wrap func(http.Handler) http.Handler, options ...option) {
	t.Helper()
	engine := gin.New()
	engine.Use(middleware)
	s.startHost(t, engine, s.api(t, options...))
	if wrap != nil {
		s.start(t, wrap(engine))
	}
}

// A flushMarker stands for the writer of a host that compresses. It adds a text to the response when it is
// flushed, but not when only the writer below it is flushed.
type flushMarker struct{ gin.ResponseWriter }

func (w flushMarker) Flush()                      { _, _ = w.WriteString("flushed"); w.ResponseWriter.Flush() }
func (w flushMarker) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// The server reads and discards a part of the body. Otherwise a client that sends the body before it reads the
// response would get a connection reset. There are two exceptions. Behind a TimeoutHandler, a read cannot have a
// deadline. After Expect: 100-continue, a read would make net/http send 100 Continue.
func TestDiscardOfALargeBodyIsBounded(t *testing.T) {
	t.Parallel()
	const discarded = 16 << 20
	asTimeoutHandler := func(h http.Handler) http.Handler { return http.TimeoutHandler(h, 20*time.Second, "too slow") }
	for _, test := range []struct {
		header string
		wrap   func(http.Handler) http.Handler
		want   wantResponse
		read   int64
	}{
		{"Content-Length: 1000000000", nil, rejected(413, "body_too_large"), discarded},
		{chunked, nil, rejected(413, "body_too_large"), discarded + 64<<10 + 1},
		{"Content-Length: 1000000000", nil, rejected(401, "invalid_api_key"), discarded},
		{chunked, nil, rejected(401, "invalid_api_key"), discarded},
		{"Content-Length: 1000000000", asTimeoutHandler, rejected(413, "body_too_large"), 0},
		{"Expect: 100-continue\r\nContent-Length: 1000000000", nil, rejected(413, "body_too_large"), 0}, // the body is not sent
		{"Expect: 100-continue\r\n" + chunked, nil, rejected(401, "invalid_api_key"), 0},
	} {
		s, body, done := newUnstartedServer(t), &countedBody{}, make(chan struct{})
		s.startAfter(t, func(c *gin.Context) {
			defer close(done)
			c.Request.Body, c.Writer = body, flushMarker{c.Writer}
			c.Next()
		}, test.wrap)
		data := s.rawPost(test.header, "")
		if test.want.status == 401 {
			data = strings.Replace(data, s.key, "unknown", 1)
		}
		s.expectFrom(t, s.dial(t, data), test.want)
		<-done
		if read := body.read.Load(); read != test.read {
			t.Errorf("%s: read %d bytes of the body, want %d", test.header, read, test.read)
		}
	}
}

// After the end of a body, net/http continues to read, to detect a disconnect. If the read deadline of the
// discard stayed set, this read would fail, and the context of the request would end.
func TestDiscardLeavesNoDeadlineToAHost(t *testing.T) {
	t.Parallel()
	s, ended := newUnstartedServer(t), make(chan bool, 1)
	s.startAfter(t, func(c *gin.Context) {
		ctx := c.Request.Context()
		c.Next()
		select {
		case <-ctx.Done():
			ended <- true
		case <-time.After(2500 * time.Millisecond): // more than the deadline of the discard
			ended <- false
		}
	}, nil)
	s.key = "unknown"
	s.expectFrom(t, s.dial(t, s.rawPost(chunked, endOfChunk)), rejected(401, "invalid_api_key"))
	if <-ended {
		t.Error("the context of the connection ended while a handler of the host ran")
	}
}

// The body, or its end, is not sent. The first response must be the error, not 100 Continue. The connection
// is closed with it.
func TestLargeBodyIsRejectedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	s.serve(t, s.engine(t), longTimeouts)
	for _, header := range []string{"Content-Length: 65537", "Content-Length: 1073741824", "Expect: 100-continue\r\nContent-Length: 65537"} {
		data := s.rawPost(header, "")
		for data, want := range map[string]wantResponse{
			data: rejected(413, "body_too_large", "65536"),
			strings.Replace(data, s.key, "unknown", 1):                 rejected(401, "invalid_api_key"),
			strings.Replace(data, "application/json", "text/plain", 1): rejected(415, "unsupported_media_type"),
		} {
			t.Run(want.code, func(t *testing.T) {
				t.Parallel() // the server waits for the rest of the body
				conn := s.dial(t, data)
				s.expectFrom(t, conn, want)
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Errorf("%s: %v, want the end of the connection", header, err)
				}
			})
		}
	}
	s.expectFrom(t, s.dial(t, s.rawPost(chunked, chunk(strings.Repeat("x", 64<<10+1)))), rejected(413, "body_too_large"))
}

func TestDeadlineCountsFromStartOfRequest(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	authenticated, deadline := make(chan time.Time, 1), time.Time{}
	s := newTestServer(t, withRequestTimeout(timeout), withCall(func(ctx context.Context) error { deadline, _ = ctx.Deadline(); return nil }),
		withAuthenticator(func(*gin.Context) (string, error) { authenticated <- time.Now(); return "caller", nil }))
	conn := s.dial(t, s.rawPost("Content-Length: 29", newRex[:10]))
	start := <-authenticated
	if _, err := conn.Write([]byte(newRex[10:])); err != nil {
		t.Fatal(err)
	}
	s.expectFrom(t, conn, created(""))
	if deadline.After(start.Add(timeout)) {
		t.Errorf("got a deadline %s after authentication, want at most %s", deadline.Sub(start), timeout)
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	t.Parallel()
	shortRead := longTimeouts
	shortRead.Read = time.Second
	for request, timeouts := range map[time.Duration]server.Timeouts{time.Second: longTimeouts, time.Minute: shortRead} {
		s := newUnstartedServer(t)
		s.serve(t, s.engine(t, withRequestTimeout(request)), timeouts)
		var conns []net.Conn
		for _, data := range []string{
			s.rawPost("Content-Length: 100", `{"name":`), s.rawPost("Content-Length: 100", ""), s.rawPost(chunked, chunk(`{"name":`)),
		} {
			conns = append(conns, s.dial(t, data))
		}
		for _, conn := range conns {
			s.expectFrom(t, conn, rejected(408, "request_timeout"))
		}
		s.key = "unknown"
		s.expectFrom(t, s.dial(t, s.rawPost("Content-Length: 100", `{"name":`)), rejected(401, "invalid_api_key"))
	}
}

// While a handler runs, net/http reads from the connection to detect that the client disconnects.
func TestReadTimeoutDoesNotEndHandlers(t *testing.T) {
	t.Parallel()
	s, timeouts := newUnstartedServer(t), longTimeouts
	timeouts.Read = time.Second // the key and the body are read in this time
	s.serve(t, s.engine(t, withCall(afterTimeout(timeouts.Read))), timeouts)
	for range 2 { // all four requests use one connection
		s.expect(t, get("/v1/pets/1"), ok(createdRex))
		s.expect(t, postPet(newRex), created(createdRex))
	}
}

// After a host has read the body, net/http reads from the connection in the background. When that read fails, also at the
// read deadline, net/http cancels the context of the request. An operation with a body removes the deadline.
func TestReadDeadlineEndsOnlyRequestsWithoutABodyOfTheirOwn(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second // the key and the body are read in this time
	var call func(context.Context) error
	s := newUnstartedServer(t)
	s.startAfter(t, func(c *gin.Context) {
		body, _ := io.ReadAll(c.Request.Body)
		c.Request.Body = io.NopCloser(bytes.NewReader(body))
	}, nil, withCall(func(ctx context.Context) error { return call(ctx) }), withRequestTimeout(timeout))
	for range 3 {
		call = afterTimeout(timeout)
		s.expect(t, postPet(newRex), created(createdRex))
		call = untilDone
		r := s.expect(t, request{method: http.MethodGet, path: "/v1/pets/1", body: "{}"}, rejected(503, "unavailable"))
		if !r.Close {
			t.Error("the connection stays open")
		}
	}
}

// afterTimeout returns a call that succeeds after more than the timeout, unless the context of its request ends.
func afterTimeout(timeout time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return domain.Unavailable(ctx.Err())
		case <-time.After(timeout * 3 / 2):
			return nil
		}
	}
}

const (
	newRex      = `{"name":"Rex","categoryId":7}`
	createdRex  = `{"id":1,"name":"Rex","categoryId":7}`
	replayed    = "Idempotency-Replayed: true"
	notReplayed = "-Idempotency-Replayed"
)

func TestRepeatedRequestReplaysFirstResponse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const one = "Idempotency-Key: one"
	first := s.expect(t, postPet(newRex, one, "X-Request-Id: first"), created(createdRex).withHeader(notReplayed, "X-Request-Id: first"))
	for _, r := range []request{
		postPet(`{"categoryId":7,"name":"Rex"}`, `Idempotency-Key:  "one" `),
		postPet(" {\n\"name\" : \"Rex\",\t\"categoryId\":7 } ", one),
		postPet(`{"n\u0061me":"\u0052ex","categoryId":7,"id":9}`, one),
	} {
		s.expect(t, r, created(string(first.body)).withHeader(replayed, "Location: "+first.Header.Get("Location")))
	}
	for _, body := range []string{
		`{"name":"rex","categoryId":7}`, `{"name":"Rex","categoryId":8}`, `{"name":"Rex","categoryId":7,"status":"available"}`,
	} {
		s.expect(t, postPet(body, one), rejected(422, "idempotency_key_reused").withHeader(notReplayed, "-Location").withoutText("rex", "Rex"))
	}
	twice := rejected(400, "invalid_idempotency_key", "Idempotency-Key must be given once")
	s.expect(t, postPet(newRex, "Idempotency-Key: x", "Idempotency-Key: x"), twice)
	s.expect(t, get("/v1/pets", "Content-Type: text/plain", "Content-Encoding: gzip"), ok(`[`+createdRex+`]`)) // a GET has no body
}

// FuzzIdempotencyKey sends each key twice, and then with another pet.
func FuzzIdempotencyKey(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range []string{
		"", "a", "1", "one", "One", "one1", `"one"`, `"\"one\""`, `""`, `"`, `"a`, `a"`, `a"b`, `"a"b"`, `"a"b`, `"a" b`, `"a\"b"`, `"a\\b"`, `"a\b"`,
		`"a\"`, `"a\`, `a\b`,
		"a b", `"a b"`, "a\tb", "a\x00", "\x7f", "~", "!", `!#$%&'()*+,-./:;<=>?@[\]^_{|}~`, "ä", `"ä"`, "\u00a0", "🐶", "\xff",
		"8e03978e-40d5-43dd-bc93-6894a57f9324", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`, `"a";p=1`, `"a", "b"`, strings.Repeat("b", 10_000),
		strings.Repeat("x", 255), strings.Repeat("x", 256), `"` + strings.Repeat("x", 255) + `"`, `"` + strings.Repeat("x", 256) + `"`,
		`"` + strings.Repeat(`\"`, 255) + `"`, `"` + strings.Repeat(`\"`, 256) + `"`,
	} {
		f.Add(seed)
	}
	responses := map[string]string{} // the responses by key
	f.Fuzz(func(t *testing.T, header string) {
		send := func(body string) *httptest.ResponseRecorder {
			return s.roundTrip(t, http.MethodPost, "/v1/pets", "", body, http.Header{"Idempotency-Key": {header}})
		}
		key, valid := parseIdempotencyKey(header)
		w := send(newRex)
		if !valid {
			wantError(t, w, "invalid_idempotency_key", nil)
			return
		}
		replayed := w.Header().Get("Idempotency-Replayed") == "true"
		if first, repeated := responses[key]; w.Code != http.StatusCreated || replayed != repeated || repeated && w.Body.String() != first {
			t.Fatalf("%q: got %d %s, replayed %t, want replayed %t of %q", header, w.Code, w.Body, replayed, repeated, first)
		}
		responses[key] = w.Body.String()
		wantError(t, send(`{"name":"Tom","categoryId":8}`), "idempotency_key_reused", nil)
	})
}

var quotedKey = regexp.MustCompile(`^"(?:[ !#-\[\]-~]|\\["\\])*"$`)

// parseIdempotencyKey returns the key in the value of a header. A quoted value is a String of RFC 9651,
// section 3.3.3.
func parseIdempotencyKey(header string) (key string, valid bool) {
	if key = header; strings.HasPrefix(header, `"`) {
		if !quotedKey.MatchString(header) {
			return "", false
		}
		key = regexp.MustCompile(`\\(.)`).ReplaceAllString(header[1:len(header)-1], "$1")
	}
	return key, regexp.MustCompile(`^[!-~]{1,255}$`).MatchString(key)
}

func TestBodyMustHaveJSONMediaType(t *testing.T) {
	t.Parallel()
	expect := func(want error, types []string, encodings ...string) {
		t.Helper()
		if err := rest.CheckMediaType(http.Header{"Content-Type": types, "Content-Encoding": encodings}); !errors.Is(err, want) {
			t.Errorf("%q with the encodings %q: got error %v, want %v", types, encodings, err, want)
		}
	}
	json := []string{"application/json"}
	expect(nil, json, "identity")
	for _, valid := range []string{
		json[0], "application/json; charset=utf-8", "Application/JSON;Charset=UTF-8", `application/json; charset="utf-8"`,
		"application/json; charset=utf8", "application/json; charset=US-ASCII", "application/json; version=1",
		"application/json;odata=verbose;charset=UTF8",
	} {
		expect(nil, []string{valid})
	}
	for _, invalid := range []string{
		"", "application/json, application/json", "text/plain", "text/json", "application/x-www-form-urlencoded", "application/jsonp",
		"application/merge-patch+json", "*/*", "application", "application/json; charset=iso-8859-1", "application/json; charset=utf-16",
		`application/json; charset=""`, "application/json; charset=utf-8; charset=utf-16", "application/json; version=1; charset=utf-7",
		"application/json; charset",
	} {
		expect(rest.ErrUnsupportedMediaType, []string{invalid})
	}
	expect(rest.ErrUnsupportedMediaType, nil)
	expect(rest.ErrUnsupportedMediaType, append(json, json...))
	for _, encodings := range [][]string{{"gzip"}, {"x"}, {"identity", "gzip"}, {"identity, gzip"}} {
		expect(rest.ErrUnsupportedMediaType, json, encodings...)
	}
}
