package http_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
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

func TestSlowBodyTimesOutAtRequestDeadline(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	start := time.Now()
	stop, served := s.serve(t, s.engine(t, nil, withRequestTimeout(time.Second)), longTimeouts)
	declared, chunked := s.dial(t, s.rawPost("Content-Length: 100", `{"name":`)), s.dial(t, s.rawPost("Transfer-Encoding: chunked", "8\r\n{\"name\":\r\n"))
	s.expectFrom(t, declared, rejected(408, "request_timeout"))
	s.expectFrom(t, chunked, rejected(408, "request_timeout"))
	s.key = "unknown"
	s.expectFrom(t, s.dial(t, s.rawPost("Content-Length: 100", `{"name":`)), rejected(401, "invalid_api_key"))
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > longTimeouts.Read/2 {
		t.Errorf("the responses took %s, want them before the server's read timeout", took)
	}
}

func TestSlowBodyTimesOutAtReadTimeout(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	timeouts := longTimeouts
	timeouts.Read = time.Second
	start := time.Now()
	stop, served := s.serve(t, s.engine(t, nil), timeouts)
	conns := []net.Conn{
		s.dial(t, s.rawPost("Content-Length: 100", `{"name":`)),
		s.dial(t, s.rawPost("Content-Length: 100", "")),
		s.dial(t, s.rawPost("Transfer-Encoding: chunked", "8\r\n{\"name\":\r\n")),
	}
	for _, conn := range conns {
		s.expectFrom(t, conn, rejected(408, "request_timeout"))
	}
	if took := time.Since(start); took > 6*time.Second {
		t.Errorf("the responses took %s, as long as the request timeout", took)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
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
	stop, served := s.serve(t, s.engine(t, nil, func(services *rest.Options) {
		pets := petsWithGet{services.Pets, func(ctx context.Context, _ int64) (domain.Pet, error) { return slow(ctx) }}
		services.Pets = petsWithCreate{pets, slow}
	}), timeouts)
	for range 2 { // on one connection
		s.expect(t, get("/v1/pets/1"), ok(`{"id":1,"name":"Rex","categoryId":7}`))
		s.expect(t, postPet(newRex), created(`{"id":1,"name":"Rex","categoryId":7}`))
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestExceededDeadlineIsUnavailable(t *testing.T) {
	t.Parallel()
	t.Run("during authentication", func(t *testing.T) {
		t.Parallel()
		s := newTestServer(t, withBlockingKeys, withRequestTimeout(time.Millisecond))
		for _, r := range []request{get("/v1/pets"), get("/v1/pets/1"), get("/v1/store/orders"), postPet(`{}`)} {
			s.expect(t, r, rejected(503, "unavailable").withoutText("deadline"))
		}
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
			s := newUnstartedServer(t)
			engine := gin.New()
			engine.Use(func(c *gin.Context) {
				body, _ := io.ReadAll(c.Request.Body)
				c.Request.Body = io.NopCloser(bytes.NewReader(body))
			})
			if err := s.api(t, replace, withRequestTimeout(50*time.Millisecond)).Mount(engine.Group("/v1")); err != nil {
				t.Fatal(err)
			}
			s.start(t, engine)
			for range 8 {
				if r := s.expect(t, postPet(newRex), rejected(503, "unavailable")); !r.Close {
					t.Error("the connection stays open")
				}
			}
		})
	}
}
