package http_test

import (
	"net/http"
	"testing"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
)

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
	expect := func(r request, want wantResponse) {
		t.Helper()
		res, err := s.send(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		res.check(t, want)
	}
	for _, r := range []request{get("/v1/pets", allowedOrigin), newRequest(http.MethodPost, "/v1/store/orders", allowedOrigin), get("/nowhere", allowedOrigin)} {
		expect(r, rejected(503, "unavailable").withHeader("Retry-After: 1", originAllowed, "Vary: Origin"))
	}
	expect(get("/v1/pets", otherOrigin), rejected(503, "unavailable").withHeader(originNotAllowed))
	// A browser sends the request only if the preflight has a 2xx status (Fetch, section 4.8).
	expect(newRequest(http.MethodOptions, "/v1/pets", "-Authorization", allowedOrigin, requestMethodPost, requestHeaders), wantResponse{status: 204}.withHeader(
		originAllowed, "Access-Control-Allow-Methods: POST", "Access-Control-Allow-Headers: authorization,content-type,idempotency-key", "Access-Control-Max-Age: 600",
	))
}

func TestStartupHandlerTrustsOnlyTheConfiguredProxies(t *testing.T) {
	t.Parallel()
	for proxy, want := range map[string]string{"10.0.0.1": "127.0.0.1", "127.0.0.1": "192.0.2.7"} {
		s := newUnstartedServer(t)
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
