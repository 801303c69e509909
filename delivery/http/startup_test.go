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
	startup, err := server.NewStartupHandler(rest.WithLogger(s.logger), rest.WithGetPetSunset(sunset))
	if err != nil {
		t.Fatal(err)
	}
	s.start(t, startup)
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
	for _, r := range []request{get("/readyz"), get("/v1/pets"), get("/v1/pets", "-Authorization"), postPet(`{"name":"Rex"}`), get("/nowhere"), newRequest(http.MethodDelete, "/livez")} {
		s.expect(t, r, rejected(503, "unavailable").withHeader("Retry-After: 1"))
	}
	s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable").withHeader(deprecationHeaders...))
	startup.SetHandler(s.engine(t, nil, defaultServices))
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.expect(t, get("/v1/pets"), ok(`[]`))
}
