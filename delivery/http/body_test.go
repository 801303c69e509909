package http_test

import (
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

func TestInvalidOrUnknownIDIsNotFound(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(10, "")...)
	for _, id := range []string{
		"0", "-1", "11", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809",
		"99999999999999999999999", "+1", "%2B1", "1.0", "1e0", "0x1", "1_0", "one", "null", "1%20", "%201", "1%00", "1;x", "1,2", "١", "*", "--1", "-",
		"1%27%20OR%201=1",
	} {
		s.expect(t, get("/v1/pets/"+id), rejected(404, "pet_not_found"))
		s.expect(t, get("/v1/store/orders/"+id), rejected(404, "order_not_found"))
		for _, action := range []string{"/deliver", "/cancel"} {
			s.expect(t, newRequest("POST", "/v1/store/orders/"+id+action), rejected(404, "order_not_found"))
		}
	}
	for id, want := range map[string]int{"1": 1, "%31": 1, "10": 10, "010": 10} {
		s.expect(t, get("/v1/pets/"+id), ok(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, want)))
	}
}

// A header of a request without a body is ignored.
func TestBodyMustHaveJSONMediaType(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for want, headers := range map[int][]string{
		201: {
			"Content-Type: application/json", "Content-Type: application/json; charset=utf-8", "Content-Type: Application/JSON;Charset=UTF-8",
			`Content-Type: application/json; charset="utf-8"`, "Content-Encoding: identity",
		},
		415: {
			"-Content-Type", "Content-Type: ", "Content-Type: application/json, application/json", "Content-Type: text/plain", "Content-Type: text/json",
			"Content-Type: application/x-www-form-urlencoded", "Content-Type: application/jsonp", "Content-Type: application/merge-patch+json",
			"Content-Type: */*", "Content-Type: application", "Content-Type: application/json; charset=iso-8859-1",
			"Content-Type: application/json; charset=utf-16", `Content-Type: application/json; charset=""`,
			"Content-Type: application/json; charset=utf-8; charset=utf-16", "Content-Type: application/json; version=1",
			"Content-Type: application/json; charset=utf-8; version=1", "Content-Type: application/json; charset",
			"Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: x", "Content-Encoding: identity, gzip",
		},
	} {
		for _, header := range headers {
			s.expect(t, postPet(newRex, header), wantResponse{status: want})
			s.expect(t, get("/v1/pets", header), wantResponse{status: 200})
		}
	}
	s.expect(t, postPet(newRex, "Content-Type: application/json", "Content-Type: application/json"), rejected(415, "unsupported_media_type"))
	s.expect(t, postPet(newRex, "Content-Encoding: identity", "Content-Encoding: gzip"), rejected(415, "unsupported_media_type"))
}

const (
	newRex      = `{"name":"Rex","categoryId":7}`
	createdRex  = `{"id":1,"name":"Rex","categoryId":7}`
	replayed    = "Idempotency-Replayed: true"
	notReplayed = "-Idempotency-Replayed"
)

func postPetWithKey(key, body string) request { return postPet(body, "Idempotency-Key: "+key) }

func TestRepeatedRequestReplaysFirstResponse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	first := s.expect(t, postPetWithKey("one", newRex), created(createdRex).withHeader(notReplayed))
	for _, r := range []request{
		postPetWithKey(` "one" `, `{"categoryId":7,"name":"Rex"}`),
		postPetWithKey("one", " {\n\"name\" : \"Rex\",\t\"categoryId\":7 } "),
		postPetWithKey("one", `{"n\u0061me":"\u0052ex","categoryId":7,"id":9}`),
		postPet(newRex, "Idempotency-Key: one", "X-Request-Id: second"),
	} {
		res := s.expect(t, r, created(createdRex).withHeader(replayed, "Location: "+first.Header.Get("Location")))
		if string(res.body) != string(first.body) {
			t.Errorf("got %s, want %s as in the first response", res.body, first.body)
		}
	}
	for _, body := range []string{`{"name":"rex","categoryId":7}`, `{"name":"Rex","categoryId":8}`, `{"name":"Rex","categoryId":7,"status":"available"}`} {
		s.expect(t, postPetWithKey("one", body), rejected(422, "idempotency_key_reused").withHeader(notReplayed, "-Location").withoutText("rex", "Rex"))
	}
	s.expect(t, postPet(newRex, "Idempotency-Key: x", "Idempotency-Key: x"), rejected(400, "invalid_idempotency_key", "Idempotency-Key must be given once"))
	s.expect(t, get("/v1/pets"), ok(`[`+createdRex+`]`))
}

// FuzzIdempotencyKey sends any key twice, and then with another pet.
func FuzzIdempotencyKey(f *testing.F) {
	s := newFuzzServer(f)
	for _, seed := range []string{
		"", "a", "1", "one", "One", "one1", `"one"`, `"\"one\""`, `""`, `"`, `"a`, `a"`, `a"b`, `"a"b"`, `"a"b`, `"a" b`, `"a\"b"`, `"a\\b"`, `"a\b"`, `"a\"`, `"a\`, `a\b`,
		"a b", `"a b"`, "a\tb", "a\x00", "\x7f", "~", "!", `!#$%&'()*+,-./:;<=>?@[\]^_{|}~`, "ä", `"ä"`, "\u00a0", "🐶", "\xff",
		"8e03978e-40d5-43dd-bc93-6894a57f9324", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`, `"a";p=1`, `"a", "b"`, strings.Repeat("b", 10_000),
		strings.Repeat("x", 255), strings.Repeat("x", 256), `"` + strings.Repeat("x", 255) + `"`, `"` + strings.Repeat("x", 256) + `"`,
		`"` + strings.Repeat(`\"`, 255) + `"`, `"` + strings.Repeat(`\"`, 256) + `"`,
	} {
		f.Add(seed)
	}
	responses := map[string]string{} // by key
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

// parseIdempotencyKey returns the key in a header value, a String of RFC 9651, section
// 3.3.3, when it is quoted.
func parseIdempotencyKey(header string) (key string, valid bool) {
	if key = header; strings.HasPrefix(header, `"`) {
		if !quotedKey.MatchString(header) {
			return "", false
		}
		key = regexp.MustCompile(`\\(.)`).ReplaceAllString(header[1:len(header)-1], "$1")
	}
	return key, regexp.MustCompile(`^[!-~]{1,255}$`).MatchString(key)
}
