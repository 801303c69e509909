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

func TestBodyMustBeOneIJSONObject(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	invalid := rejected(400, "invalid_json")
	s.run(t, []testCase{
		{"white space around", postPet(" \t\r\n{ \"name\" : \"Rex\" ,\n\"categoryId\" : 7 } \n"), created("")},
		{"escaped name of a member", postPet(`{"n\u0061me":"Rex","categoryId":7}`), created("")},

		{"empty", postPet(``), invalid},
		{"white space alone", postPet(" \n"), invalid},
		{"null", postPet(`null`), invalid},
		{"an array", postPet(`[{"name":"Rex","categoryId":7}]`), invalid},
		{"a string", postPet(`"Rex"`), invalid},
		{"a number", postPet(`7`), invalid},
		{"a boolean", postPet(`true`), invalid},
		{"truncated", postPet(`{"name":"Rex","categoryId":7`), invalid},
		{"truncated in a string", postPet(`{"name":"Re`), invalid},
		{"followed by an object", postPet(`{"name":"Rex","categoryId":7}{}`), invalid},
		{"followed by a letter", postPet(`{"name":"Rex","categoryId":7}x`), invalid},
		{"followed by NUL", postPet("{\"name\":\"Rex\",\"categoryId\":7}\x00"), invalid},
		{"byte order mark", postPet("\ufeff" + `{"name":"Rex","categoryId":7}`), invalid},
		{"UTF-16", postPet("{\x00}\x00"), invalid},
		{"single quotes", postPet(`{'name':'Rex','categoryId':7}`), invalid},
		{"unquoted names", postPet(`{name:"Rex",categoryId:7}`), invalid},
		{"trailing comma", postPet(`{"name":"Rex","categoryId":7,}`), invalid},
		{"comment", postPet(`{"name":"Rex","categoryId":7/* */}`), invalid},
		{"NaN", postPet(`{"name":"Rex","categoryId":NaN}`), invalid},
		{"number with a plus", postPet(`{"name":"Rex","categoryId":+7}`), invalid},
		{"number with a leading zero", postPet(`{"name":"Rex","categoryId":07}`), invalid},
		{"hexadecimal number", postPet(`{"name":"Rex","categoryId":0x7}`), invalid},
		{"unescaped control character in a string", postPet("{\"name\":\"R\nex\",\"categoryId\":7}"), invalid},
		{"unknown escape", postPet(`{"name":"R\x65x","categoryId":7}`), invalid},

		{"name given twice", postPet(`{"name":"Rex","name":"Rex","categoryId":7}`), invalid},
		{"name given twice, once escaped", postPet(`{"name":"Rex","n\u0061me":"Tom","categoryId":7}`), invalid},
		{"unknown member given twice", postPet(`{"name":"Rex","categoryId":7,"x":1,"x":1}`), invalid},
		{"nested member given twice", postPet(`{"name":"Rex","categoryId":7,"x":[{"y":1,"y":1}]}`), invalid},

		{"invalid UTF-8 in a value", postPet("{\"name\":\"R\xffx\",\"categoryId\":7}"), invalid},
		{"overlong UTF-8", postPet("{\"name\":\"R\xc0\xafx\",\"categoryId\":7}"), invalid},
		{"surrogate in UTF-8", postPet("{\"name\":\"R\xed\xa0\x80x\",\"categoryId\":7}"), invalid},
		{"invalid UTF-8 in a name", postPet("{\"name\":\"Rex\",\"categoryId\":7,\"\xff\":1}"), invalid},
		{"invalid UTF-8 in an unknown member", postPet("{\"name\":\"Rex\",\"categoryId\":7,\"x\":\"\xff\"}"), invalid},
		{"lone high surrogate", postPet(`{"name":"R\ud83dx","categoryId":7}`), invalid},
		{"lone low surrogate", postPet(`{"name":"R\ude00x","categoryId":7}`), invalid},
		{"surrogates in reverse order", postPet(`{"name":"\ude00\ud83d","categoryId":7}`), invalid},
		{"lone surrogate in an unknown member", postPet(`{"name":"Rex","categoryId":7,"x":"\ud800"}`), invalid},
		{"lone surrogate in a name", postPet(`{"name":"Rex","categoryId":7,"\udfff":1}`), invalid},
		{"noncharacter in a value", postPet("{\"name\":\"R\uffffx\",\"categoryId\":7}"), invalid},
		{"escaped noncharacter", postPet(`{"name":"R\uFDD0x","categoryId":7}`), invalid},
		{"noncharacter of another plane", postPet("{\"name\":\"R\U0010fffe\",\"categoryId\":7}"), invalid},
		{"escaped noncharacter of another plane", postPet(`{"name":"R\ud83f\udfff","categoryId":7}`), invalid},
		{"noncharacter in an unknown member", postPet(`{"name":"Rex","categoryId":7,"x":[{"y":"\ufdef"}]}`), invalid},
		{"noncharacter in a name", postPet(`{"name":"Rex","categoryId":7,"\ufffe":1}`), invalid},
		{"noncharacter before values", postPet(`{"name":"","x":"\ufffe"}`), invalid},
		{"nested too deep", postPet(nestedBody(20_000)), invalid},
	})
}

// nestedBody returns a pet with an unknown member of nested arrays.
func nestedBody(depth int) string {
	return `{"name":"Rex","categoryId":7,"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
}

func TestUnknownMembersAreIgnored(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for id, body := range []string{
		`{"name":"Rex","categoryId":7,"colour":"brown","tags":[1,{"a":null}],"":0}`,
		`{"id":99,"name":"Rex","categoryId":7}`,
		`{"id":"x","name":"Rex","categoryId":7}`,
		`{"name":"Rex","categoryId":7,"Name":"Tom","NAME":1,"categoryID":8,"CategoryId":null,"Status":"x"}`,
		`{"name":"Rex","categoryId":7,"ſtatus":"sold","\u212aname":1}`, // equal to names by case folding
		`{"name":"Rex","categoryId":7,"CategoryID":8,"category_id":8}`, // names of Go fields
		nestedBody(5_000),
	} {
		s.expect(t, postPet(body), created(fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7}`, id+1)))
	}
}

func TestBodyLargerThan64KiBIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	sized := func(size int) string {
		const start, end = `{"name":"Rex","categoryId":7,"x":"`, `"}`
		return start + strings.Repeat("x", size-len(start)-len(end)) + end
	}
	tooLarge := rejected(413, "body_too_large", "65536")
	s.run(t, []testCase{
		{"at the limit", postPet(sized(64 << 10)), created("")},
		{"one byte over", postPet(sized(64<<10 + 1)), tooLarge},
		{"one byte of white space over", postPet(sized(64<<10) + " "), tooLarge},
		{"far over", postPet(sized(200 << 10)), tooLarge},
	})
	for size, want := range map[int]wantResponse{64 << 10: created(""), 64<<10 + 1: tooLarge} {
		t.Run(fmt.Sprintf("%d bytes in chunks", size), func(t *testing.T) {
			t.Parallel()
			s.expectChunked(t, sized(size), want)
		})
	}
}

// expectChunked is expect for a POST of a pet without Content-Length.
func (s *testServer) expectChunked(t *testing.T, body string, want wantResponse) {
	t.Helper()
	chunks := struct{ io.Reader }{strings.NewReader(body)} // net/http does not know the length of this type
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", chunks)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}}
	res, err := s.do(req)
	if err != nil {
		t.Fatal(err)
	}
	s.checkCommonRules(t, res)
	res.check(t, want)
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
