package http_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
)

func TestShutdownClosesConnectionsAfterTimeout(t *testing.T) {
	t.Parallel()
	pets, s := newBlockingGet(), newUnstartedServer(t)
	timeouts := longTimeouts
	timeouts.Shutdown = 50 * time.Millisecond
	stop, served := s.serveUntil(t, s.engine(t, nil, withGet(pets.get)), timeouts)
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

func TestReadinessFailsWhileDraining(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, method := range []string{"GET", "HEAD"} {
		s.expect(t, newRequest(method, "/readyz", "-Authorization"), wantResponse{status: 200})
	}
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.health.Drain()
	s.expect(t, get("/readyz"), rejected(503, "unavailable").withHeader("Retry-After: 1"))
	s.expect(t, newRequest("HEAD", "/readyz"), wantResponse{status: 503}.withHeader("Retry-After: 1"))
	s.expect(t, get("/livez", "-Authorization"), ok(`{"status":"alive"}`))
	s.expect(t, newRequest("HEAD", "/livez", "-Authorization"), wantResponse{status: 200})
	s.expect(t, get("/v1/pets"), ok(`[]`))
	if got := s.log.FilterLevelExact(zap.ErrorLevel).Len(); got != 0 {
		t.Errorf("got %d failures in the log, want none", got)
	}
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

func TestForwardedAddressIsUsedOnlyFromTrustedProxies(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	for name, newHandler := range map[string]func(proxy string) (http.Handler, error){
		"service": func(proxy string) (http.Handler, error) { return server.NewEngine(s.api(t), s.health, []string{proxy}) },
		"startup": func(proxy string) (http.Handler, error) {
			return server.NewStartupHandler([]string{proxy}, rest.Options{Logger: s.logger})
		},
	} {
		for proxy, client := range map[string]string{"127.0.0.1": "203.0.113.9", "127.0.0.0/8": "203.0.113.9", "10.0.0.1": "127.0.0.1"} {
			s.log.TakeAll()
			handler, err := newHandler(proxy)
			if err != nil {
				t.Fatal(err)
			}
			s.start(t, handler)
			s.expect(t, get("/v1/pets", "X-Forwarded-For: 203.0.113.9"), wantResponse{})
			if line := s.accessLog(t)[0]; line["client"] != client {
				t.Errorf("%s, proxy %s: got client %v, want %s", name, proxy, line["client"], client)
			}
		}
		if _, err := newHandler("proxy.example"); err == nil {
			t.Errorf("%s: got no error for a proxy that is neither an address nor a network", name)
		}
	}
}
