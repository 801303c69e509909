package http_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
)

func TestPanicIsInternalErrorAndOnlyLogged(t *testing.T) {
	t.Parallel()
	var nilPet *domain.Pet
	var doPanic func() domain.Pet
	s := newTestServer(t, withGet(func(context.Context, int64) (domain.Pet, error) { return doPanic(), nil }))
	for cause, panics := range map[string]func() domain.Pet{
		"a string":                      func() domain.Pet { panic("a string") },
		"an error value":                func() domain.Pet { panic(errors.New("an error value")) },
		"there is no pet with the id 1": func() domain.Pet { panic(domain.PetNotFound(1)) },
		"nil pointer":                   func() domain.Pet { return *nilPet },
		"panic called with nil":         func() domain.Pet { panic(nil) },
		"index out of range [1] with":   func() domain.Pet { return []domain.Pet{}[len("x")] },
	} {
		doPanic = panics
		s.log.TakeAll()
		res := s.expect(t, get("/v1/pets/1"), rejected(500, "internal_error").withHeader(deprecationHeaders...).withoutText(cause, "middleware_test"))
		if lines := s.accessLog(t); len(lines) != 1 || lines[0]["status"] != int64(500) {
			t.Errorf("%s: got access log %v, want one line with status 500", cause, lines)
		}
		entries := s.log.FilterMessage("panic").All()
		if len(entries) != 1 {
			t.Fatalf("%s: got %d panics in the log, want 1", cause, len(entries))
		}
		fields := entries[0].ContextMap()
		if fields["request_id"] != res.Header.Get("X-Request-Id") || !strings.Contains(fmt.Sprint(fields["panic"]), cause) {
			t.Errorf("got log entry %v, want %s of request %s", fields, cause, res.Header.Get("X-Request-Id"))
		}
		if !strings.Contains(fmt.Sprint(fields["stack"]), "middleware_test.go") {
			t.Errorf("got stack %v, want it to contain middleware_test.go", fields["stack"])
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestAuthenticatorPanicIsInternalError(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { panic("panic value") }))
	s.expect(t, get("/v1/pets"), rejected(500, "internal_error").withoutText("panic value"))
}

// The cause of signal.NotifyContext is context.Canceled for errors.Is, as if the client had disconnected.
func TestRequestIsUnavailableWhenTheHostEndsItsContext(t *testing.T) {
	t.Parallel()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP)
	defer stop()
	pets, s := newBlockingGet(), newUnstartedServer(t)
	engine := gin.New()
	if err := s.api(t, withGet(pets.get)).Mount(engine.Group("/v1")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(engine)
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	defer server.Close()
	s.url, s.client = server.URL, server.Client()
	ended := make(chan error, 1)
	go func() { <-pets.started; ended <- syscall.Kill(os.Getpid(), syscall.SIGHUP) }()
	s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable"))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if line := s.waitForAccessLog(t); line["status"] != int64(503) {
		t.Errorf("got the access log %v, want the status 503", line)
	}
}

// Each request fails two consecutive checks; the response is that of the first.
func TestChecksRunInPublishedOrder(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPet(newRex, "Idempotency-Key: used"), created(""))

	const (
		noAPIKey   = "-Authorization"
		textPlain  = "Content-Type: text/plain"
		invalidKey = "Idempotency-Key: not valid"
		usedKey    = "Idempotency-Key: used"
	)
	readOnly := "Authorization: Bearer " + s.createReadOnlyKey(t)
	tooLarge := strings.Repeat("x", 64<<10+1)
	for _, tc := range []testCase{
		{"path before method", newRequest("DELETE", "/v1/nothing"), rejected(404, "not_found")},
		{"path before API key", get("/v1/nothing", noAPIKey), rejected(404, "not_found")},
		{"method before API key", newRequest("DELETE", "/v1/pets", noAPIKey), rejected(405, "method_not_allowed")},
		{"API key before media type", postPet(`{}`, noAPIKey, textPlain), rejected(401, "missing_api_key")},
		{"API key before size", postPet(tooLarge, noAPIKey), rejected(401, "missing_api_key")},
		{"API key before query", get("/v1/pets?limit=0", noAPIKey), rejected(401, "missing_api_key")},
		{"API key before path id", get("/v1/pets/none", noAPIKey), rejected(401, "missing_api_key")},
		{"method before permission", newRequest("DELETE", "/v1/pets", readOnly), rejected(405, "method_not_allowed")},
		{"permission before media type", postPet(`{}`, readOnly, textPlain), rejected(403, "forbidden")},
		{"permission before size", postPet(tooLarge, readOnly), rejected(403, "forbidden")},
		{"permission before JSON", postPet(`{`, readOnly), rejected(403, "forbidden")},
		{"permission before path id", newRequest("POST", "/v1/store/orders/none/cancel", readOnly), rejected(403, "forbidden")},
		{"permission before idempotency key reuse", postPet(newRex, readOnly, usedKey), rejected(403, "forbidden")},
		{"media type before size", postPet(tooLarge, textPlain), rejected(415, "unsupported_media_type")},
		{"size before JSON", postPet(tooLarge), rejected(413, "body_too_large")},
		{"JSON before values", postPet(`{"name":"","categoryId":"x"`), rejected(400, "invalid_json")},
		{"JSON before idempotency key format", postPet(`{`, invalidKey), rejected(400, "invalid_json")},
		{"values before idempotency key format", postPet(`{"name":""}`, invalidKey), rejected(400, "validation_failed")},
		{"values before idempotency key reuse", postPet(`{"name":""}`, usedKey), rejected(400, "validation_failed")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s.expect(t, tc.request, tc.want)
		})
	}
}

// The check of every response compares the id with that of the request.
func TestRequestIDOfClientIsReturnedIfValid(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	seen := map[string]bool{}
	for _, header := range []string{
		"X-Request-Id: a", "X-Request-Id: 0", "X-Request-Id: A.b_C-9", "X-Request-Id: ..", "X-Request-Id: " + strings.Repeat("x", 64),
		"-X-Request-Id", "X-Request-Id: ", "X-Request-Id: a b", "X-Request-Id: ä", "X-Request-Id: a/b", "X-Request-Id: a:b", "X-Request-Id: <b>",
		"X-Request-Id: a,b", "X-Request-Id: a\tb", "X-Request-Id: \xff", "X-Request-Id: " + strings.Repeat("x", 65),
		"X-Request-Id: petstore_" + strings.Repeat("x", 49), // an API key
	} {
		for _, path := range []string{"/livez", "/nowhere", "/v1/pets/none", "/v1/pets"} {
			s.expect(t, get(path, header, "-Authorization"), wantResponse{})
		}
		id := s.expect(t, get("/v1/pets", header), ok(`[]`)).Header.Get("X-Request-Id")
		if seen[id] {
			t.Errorf("%q: got id %q again", header, id)
		}
		seen[id] = true
	}
}

const (
	allowedOrigin     = "Origin: https://shop.example.com"
	otherOrigin       = "Origin: https://evil.example.com"
	requestMethodPost = "Access-Control-Request-Method: POST"
	requestHeaders    = "Access-Control-Request-Headers: authorization,content-type,idempotency-key"
	originAllowed     = "Access-Control-Allow-Origin: https://shop.example.com"
	originNotAllowed  = "-Access-Control-Allow-Origin"
)

func newCORSServer(t *testing.T) *testServer {
	t.Helper()
	return newTestServer(t, withAllowedOrigins("https://shop.example.com", "http://localhost:3000"))
}

func TestPreflightNeedsNoAPIKey(t *testing.T) {
	t.Parallel()
	s := newCORSServer(t)
	preflight := func(path string, header ...string) request {
		return newRequest("OPTIONS", path, append([]string{"-Authorization"}, header...)...)
	}
	allowed := wantResponse{status: 204}.withHeader("Allow: GET, HEAD, POST, OPTIONS", originAllowed, "Access-Control-Allow-Methods: POST", "Access-Control-Max-Age: 600",
		"-Access-Control-Allow-Credentials")
	notAllowed := wantResponse{status: 204}.withHeader(originNotAllowed, "-Access-Control-Allow-Methods", "-Access-Control-Allow-Headers", "-Access-Control-Allow-Credentials")
	for _, tc := range []testCase{
		{"all headers", preflight("/v1/pets", allowedOrigin, requestMethodPost, requestHeaders), allowed.withHeader("Access-Control-Allow-Headers: authorization,content-type,idempotency-key")},
		{"headers with spaces", preflight("/v1/store/orders", allowedOrigin, requestMethodPost, "Access-Control-Request-Headers: Content-Type, Authorization"), allowed.withHeader("Access-Control-Allow-Headers: Content-Type, Authorization")},
		{"no headers", preflight("/v1/pets", allowedOrigin, requestMethodPost), allowed.withHeader("-Access-Control-Allow-Headers")},
		{"deprecated route", preflight("/v1/pets/1", allowedOrigin, "Access-Control-Request-Method: GET", requestHeaders), wantResponse{status: 204}.withHeader(deprecationHeaders...).withHeader(originAllowed, "Allow: GET, HEAD, OPTIONS")},
		{"another origin", preflight("/v1/pets", otherOrigin, requestMethodPost, requestHeaders), notAllowed},
		{"null origin", preflight("/v1/pets", "Origin: null", requestMethodPost, requestHeaders), notAllowed},
		{"another scheme", preflight("/v1/pets", "Origin: http://shop.example.com", requestMethodPost), notAllowed},
		{"another port", preflight("/v1/pets", "Origin: https://shop.example.com:8443", requestMethodPost), notAllowed},
		{"origin as prefix", preflight("/v1/pets", "Origin: https://shop.example.com.evil.com", requestMethodPost), notAllowed},
		{"another method", preflight("/v1/pets", allowedOrigin, "Access-Control-Request-Method: DELETE"), notAllowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			res := s.expect(t, tc.request, tc.want)
			if vary := res.Header.Get("Vary"); !strings.Contains(vary, "Origin") {
				t.Errorf("got Vary %q, want it to contain Origin", vary)
			}
		})
	}
}

var exposedHeaders = []string{"Link", "Location", "X-Request-Id", "Retry-After", "RateLimit", "RateLimit-Policy", "Idempotency-Replayed", "ETag", "Deprecation", "Sunset"}

func TestAllowedOriginCanReadEveryResponse(t *testing.T) {
	t.Parallel()
	s := newCORSServer(t)
	for _, r := range []request{
		get("/v1/pets"), postPet(newRex), postPet(`{`), get("/v1/pets", "-Authorization"), get("/v1/pets/42"), get("/v1/nothing"), get("/v1/pets%2F1"),
	} {
		r.header = append(r.header, allowedOrigin)
		res := s.expectOnly(t, r, wantResponse{}.withHeader(originAllowed, "Vary: Origin", "-Access-Control-Allow-Credentials"))
		got := strings.Split(strings.ToLower(res.Header.Get("Access-Control-Expose-Headers")), ", ")
		for _, header := range exposedHeaders {
			if !slices.Contains(got, strings.ToLower(header)) {
				t.Errorf("got exposed headers %q, want %s among them", got, header)
			}
		}
	}
	for _, header := range []string{otherOrigin, "Origin: null", "X-No: origin"} {
		s.expectOnly(t, get("/v1/pets", header), ok("").withHeader(originNotAllowed, "-Access-Control-Expose-Headers", "Vary: Origin"))
	}
}

func TestDeadlineCountsFromStartOfRequest(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	authenticated, deadline := make(chan time.Time, 1), make(chan time.Time, 1)
	s := newTestServer(t, withCreate(func(ctx context.Context) (domain.Pet, error) {
		at, _ := ctx.Deadline()
		deadline <- at
		return domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, nil
	}), withRequestTimeout(timeout), withAuthenticator(func(*gin.Context) (string, error) {
		authenticated <- time.Now()
		return "caller", nil
	}))
	conn := s.dial(t, s.rawPost("Content-Length: 29", newRex[:10]))
	start := <-authenticated
	if _, err := conn.Write([]byte(newRex[10:])); err != nil {
		t.Fatal(err)
	}
	s.expectFrom(t, conn, created(""))
	if at := <-deadline; at.After(start.Add(timeout)) {
		t.Errorf("got a deadline %s after authentication, want at most %s", at.Sub(start), timeout)
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	t.Parallel()
	shortRead := longTimeouts
	shortRead.Read = time.Second
	for name, test := range map[string]struct {
		request  time.Duration
		timeouts server.Timeouts
	}{
		"at the request deadline": {time.Second, longTimeouts}, "at the read timeout": {time.Minute, shortRead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnstartedServer(t)
			s.serve(t, s.engine(t, nil, withRequestTimeout(test.request)), test.timeouts)
			var conns []net.Conn
			for _, data := range []string{
				s.rawPost("Content-Length: 100", `{"name":`), s.rawPost("Content-Length: 100", ""), s.rawPost("Transfer-Encoding: chunked", "8\r\n{\"name\":\r\n"),
			} {
				conns = append(conns, s.dial(t, data))
			}
			for _, conn := range conns {
				s.expectFrom(t, conn, rejected(408, "request_timeout"))
			}
			s.key = "unknown"
			s.expectFrom(t, s.dial(t, s.rawPost("Content-Length: 100", `{"name":`)), rejected(401, "invalid_api_key"))
		})
	}
}

// net/http reads from the connection while a handler runs, to detect that the client
// disconnects.
func TestReadTimeoutDoesNotEndHandlers(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	timeouts := longTimeouts
	timeouts.Read = 250 * time.Millisecond
	slow := func(ctx context.Context) (domain.Pet, error) {
		select {
		case <-ctx.Done():
			return domain.Pet{}, domain.Unavailable(ctx.Err())
		case <-time.After(timeouts.Read * 3 / 2):
			return domain.Pet{ID: 1, Name: "Rex", CategoryID: 7}, nil
		}
	}
	s.serve(t, s.engine(t, nil, withCreate(slow), withGet(func(ctx context.Context, _ int64) (domain.Pet, error) { return slow(ctx) })), timeouts)
	for range 2 { // on one connection
		s.expect(t, get("/v1/pets/1"), ok(`{"id":1,"name":"Rex","categoryId":7}`))
		s.expect(t, postPet(newRex), created(`{"id":1,"name":"Rex","categoryId":7}`))
	}
}

func TestExceededDeadlineIsUnavailable(t *testing.T) {
	t.Parallel()
	t.Run("during authentication", func(t *testing.T) {
		t.Parallel()
		s := newTestServer(t, withBlockingKeys, withRequestTimeout(time.Millisecond))
		for _, r := range []request{get("/v1/pets"), get("/v1/store/orders"), postPet(`{}`)} {
			s.expect(t, r, rejected(503, "unavailable").withoutText("deadline"))
		}
		s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable").withoutText("deadline").withHeader(deprecationHeaders...))
	})
	t.Run("waiting for the store", func(t *testing.T) {
		t.Parallel()
		s := newTestServer(t, withRequestTimeout(time.Second))
		s.whileStoreBusy(t, func() {
			s.expect(t, postPet(newRex, "Idempotency-Key: one"), rejected(503, "unavailable").withoutText("deadline"))
		})
		s.expect(t, get("/v1/pets"), ok(`[]`))
		s.expect(t, postPet(newRex, "Idempotency-Key: one"), created("").withHeader(notReplayed))
	})
}

// After a host has read the body, net/http reads from the connection in the background
// and cancels the request context when that read fails, also at the read deadline.
func TestDeadlineIsUnavailableWhenTheHostHasReadTheBody(t *testing.T) {
	t.Parallel()
	blockingCreate := withCreate(func(ctx context.Context) (domain.Pet, error) {
		<-ctx.Done()
		return domain.Pet{}, domain.Unavailable(ctx.Err())
	})
	for name, replace := range map[string]option{
		"during authentication":  withBlockingKeys,
		"during the transaction": blockingCreate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, engine := newUnstartedServer(t), gin.New()
			engine.Use(func(c *gin.Context) {
				body, _ := io.ReadAll(c.Request.Body)
				c.Request.Body = io.NopCloser(bytes.NewReader(body))
			})
			s.startHost(t, engine, s.api(t, replace, withRequestTimeout(50*time.Millisecond)))
			for range 8 {
				if r := s.expect(t, postPet(newRex), rejected(503, "unavailable")); !r.Close {
					t.Error("the connection stays open")
				}
			}
		})
	}
}

// waitForAccessLog returns the only line of the access log once it is written.
func (s *testServer) waitForAccessLog(t *testing.T) map[string]any {
	t.Helper()
	waitUntil(t, "the access log has one line", func() bool { return len(s.accessLog(t)) == 1 })
	return s.accessLog(t)[0]
}

func (s *testServer) rawGet() string {
	return "GET /v1/pets/1 HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer " + s.key + "\r\n\r\n"
}

func TestClientDisconnectIsRecordedAs499(t *testing.T) {
	t.Parallel()
	for name, disconnect := range map[string]func(net.Conn) error{
		"closed":      net.Conn.Close,
		"half closed": func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pets, s, registry := newBlockingGet(), newUnstartedServer(t), prometheus.NewRegistry()
			engine := gin.New()
			engine.Use(gin.RecoveryWithWriter(io.Discard)) // of a host
			s.startHost(t, engine, s.api(t, withGet(pets.get), withMetrics(registry)))
			conn := s.dial(t, s.rawGet())
			<-pets.started
			if err := disconnect(conn); err != nil {
				t.Fatal(err)
			}
			if line := s.waitForAccessLog(t); line["status"] != int64(499) {
				t.Errorf("got access log line %v, want status 499", line)
			}
			if diff := cmp.Diff(map[string]string{"GET /v1/pets/:petId 499": "1"}, requestCounts(t, registry)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if got := s.log.FilterLevelExact(zap.DebugLevel).FilterMessage("the client disconnected").Len(); got != 1 || s.log.Len() != 2 {
				t.Errorf("got log %v, want the access log line and one debug entry", s.log.All())
			}
			if name == "half closed" {
				if received, err := io.ReadAll(conn); err != nil || len(received) > 0 {
					t.Errorf("received %q and error %v, want nothing", received, err)
				}
			}
		})
	}
}

func TestErrorAfterClientDisconnectIsLogged(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	s := newTestServer(t, withGet(func(ctx context.Context, _ int64) (domain.Pet, error) {
		close(started)
		<-ctx.Done()
		return domain.Pet{}, domain.Unavailable(context.DeadlineExceeded)
	}))
	conn := s.dial(t, s.rawGet())
	<-started
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	s.waitForAccessLog(t)
	if got := s.log.FilterLevelExact(zap.ErrorLevel).FilterMessage("the store is not available").Len(); got != 1 {
		t.Errorf("got log %v, want one failed request", s.log.All())
	}
}
