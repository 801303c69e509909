package http_test

import (
	"context"
	"testing"

	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
)

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
