package http_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
)

func TestShutdownWaitsForRunningRequest(t *testing.T) {
	t.Parallel()
	pets, s := newBlockingGet(), newUnstartedServer(t)
	stop, served := s.serve(t, s.engine(t, nil, withGet(pets.get)), longTimeouts)
	responses := make(chan response, 1)
	go func() {
		defer close(responses)
		if res, err := s.send(t.Context(), get("/v1/pets/42")); err == nil {
			responses <- res
		}
	}()
	<-pets.started
	stop()
	s.waitUntilClosed(t)
	select {
	case err := <-served:
		t.Fatalf("Serve returned %v while a request was running", err)
	default:
	}
	close(pets.release)
	res, received := <-responses
	if !received {
		t.Fatal("the running request got no response")
	}
	s.checkCommonRules(t, res)
	res.check(t, ok(`{"id":42,"name":"Rex","categoryId":7}`))
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// waitUntilClosed returns when the server accepts no more connections.
func (s *testServer) waitUntilClosed(t *testing.T) {
	t.Helper()
	waitUntil(t, "the server accepts no connections", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return true
		}
		conn.Close()
		return false
	})
}

func TestShutdownClosesConnectionsAfterTimeout(t *testing.T) {
	t.Parallel()
	pets, s := newBlockingGet(), newUnstartedServer(t)
	timeouts := longTimeouts
	timeouts.Shutdown = 50 * time.Millisecond
	stop, served := s.serve(t, s.engine(t, nil, withGet(pets.get)), timeouts)
	failed := make(chan bool, 1)
	go func() {
		res, err := s.send(t.Context(), get("/v1/pets/42"))
		failed <- err != nil || res.StatusCode == http.StatusServiceUnavailable
	}()
	<-pets.started
	stop()
	if err := <-served; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve returned %v, want %v", err, context.DeadlineExceeded)
	}
	if !<-failed {
		t.Error("the running request did not fail")
	}
	if line := s.waitForAccessLog(t); line["status"] != int64(http.StatusServiceUnavailable) {
		t.Errorf("got the access log %v, want the status 503", line)
	}
}

func TestHealthNeedsNoAPIKey(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.run(t, []testCase{
		{"livez", get("/livez", "-Authorization"), ok(`{"status":"alive"}`)},
		{"readyz", get("/readyz", "-Authorization"), ok(`{"status":"ready"}`)},
		{"HEAD livez", newRequest("HEAD", "/livez", "-Authorization"), ok("")},
		{"HEAD readyz", newRequest("HEAD", "/readyz", "-Authorization"), ok("")},
	})
}

func TestReadinessFailsWhileDraining(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.health.Drain()
	s.expect(t, get("/readyz"), rejected(503, "unavailable").withHeader("Retry-After: 1"))
	s.expect(t, newRequest("HEAD", "/readyz"), wantResponse{status: 503}.withHeader("Retry-After: 1"))
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
	s.expect(t, get("/v1/pets"), ok(`[]`))
	if got := s.log.FilterLevelExact(zap.ErrorLevel).Len(); got != 0 {
		t.Errorf("got %d failures in the log, want none", got)
	}
}

func TestReadinessQueriesStore(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.removeTable(t, "pets")
	s.expect(t, get("/readyz"), rejected(503, "unavailable"))
	s.expect(t, get("/livez"), ok(""))
}

func TestReadinessReportsPingError(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	s.health = server.NewHealth(func(context.Context) error { return domain.Unavailable(context.DeadlineExceeded) })
	s.start(t, s.engine(t, nil))
	s.expect(t, get("/readyz"), rejected(503, "unavailable").withoutText("deadline"))
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
}

func TestStartupHandlerIsUnavailableUntilReady(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	startup, err := server.NewStartupHandler(nil, rest.Options{Logger: s.logger})
	if err != nil {
		t.Fatal(err)
	}
	s.start(t, startup)
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
	for _, r := range []request{get("/readyz"), get("/v1/pets"), get("/v1/pets", "-Authorization"), postPet(`{"name":"Rex"}`), get("/nowhere"), newRequest(http.MethodDelete, "/livez")} {
		s.expect(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1"))
	}
	s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable").withHeader(deprecationHeaders...))
	startup.SetHandler(s.engine(t, nil))
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestStartupHandlerSendsCORSHeaders(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	startup, err := server.NewStartupHandler(nil, rest.Options{AllowedOrigins: []string{"https://shop.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	s.start(t, startup)
	for _, r := range []request{get("/v1/pets", allowedOrigin), newRequest(http.MethodPost, "/v1/store/orders", allowedOrigin), get("/nowhere", allowedOrigin)} {
		s.expectOnly(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1", originAllowed, "Vary: Origin"))
	}
	s.expectOnly(t, get("/v1/pets", otherOrigin), rejected(503, "unavailable").withHeader(originNotAllowed))
	// A browser sends the request only if the preflight has a 2xx status (Fetch, section 4.8).
	s.expectOnly(t, newRequest(http.MethodOptions, "/v1/pets", "-Authorization", allowedOrigin, requestMethodPost, requestHeaders), wantResponse{status: 204}.withHeader(
		originAllowed, "Access-Control-Allow-Methods: POST", "Access-Control-Allow-Headers: authorization,content-type,idempotency-key", "Access-Control-Max-Age: 600",
	))
}

func TestStartupHandlerTrustsOnlyTheConfiguredProxies(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	for proxy, want := range map[string]string{"10.0.0.1": "127.0.0.1", "127.0.0.1": "192.0.2.7"} {
		s.log.TakeAll()
		startup, err := server.NewStartupHandler([]string{proxy}, rest.Options{Logger: s.logger})
		if err != nil {
			t.Fatal(err)
		}
		s.start(t, startup)
		s.expect(t, get("/v1/pets", "X-Forwarded-For: 192.0.2.7"), rejected(503, "unavailable"))
		if got := s.accessLog(t)[0]["client"]; got != want {
			t.Errorf("with the trusted proxy %s: got the client %v, want %s", proxy, got, want)
		}
	}
	if _, err := server.NewStartupHandler([]string{"proxy.example"}, rest.Options{}); err == nil {
		t.Error("got no error for a trusted proxy that is neither an address nor a network")
	}
}
