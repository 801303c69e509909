package http_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
)

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
	timeouts.Read = 500 * time.Millisecond
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

// rawGet returns the text of a GET of a pet.
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
