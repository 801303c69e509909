package http_test

import (
	"context"
	"testing"
	"time"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
)

func TestStoreThatIsDownIsUnavailableAndNeverUnauthenticated(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	if err := s.closeStore(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []request{
		get("/v1/pets"), get("/v1/pets/1"), get("/v1/store/orders"), post(`{"name":"Rex","categoryId":7}`),
		get("/v1/pets", "Authorization: Bearer "+domain.GenerateKey()),
	} {
		a := s.expect(t, r, refused(503, "unavailable").with("Retry-After: 1").without("closed"))
		s.wantCauseInLog(t, a, "closed")
	}
	s.expect(t, get("/readyz"), refused(503, "unavailable"))
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
}

func TestMistypedKeyIsRefusedWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.exec(t, `DROP TABLE api_keys`)
	mistyped := s.key[:len(s.key)-1] + "0"
	if mistyped == s.key {
		mistyped = s.key[:len(s.key)-1] + "1"
	}
	s.expect(t, get("/v1/pets", "Authorization: Bearer "+mistyped), refused(401, "invalid_api_key"))
	s.expect(t, get("/v1/pets", "-Authorization"), refused(401, "missing_api_key"))
}

func TestDeadlineThatPassedIsUnavailable(t *testing.T) {
	t.Parallel()
	t.Run("while the key is looked up", func(t *testing.T) {
		t.Parallel()
		s := newTestServerWith(t, slowKeys, rest.WithRequestTimeout(time.Millisecond))
		for _, r := range []request{get("/v1/pets"), get("/v1/pets/1"), get("/v1/store/orders"), post(`{}`)} {
			s.expect(t, r, refused(503, "unavailable").without("deadline"))
		}
	})
	t.Run("while the store is busy", func(t *testing.T) {
		t.Parallel()
		s := newTestServer(t, rest.WithRequestTimeout(time.Second))
		s.busy(t, func() {
			s.expect(t, post(`{"name":"Rex","categoryId":7}`, "Idempotency-Key: one"), refused(503, "unavailable").without("deadline"))
		})
		s.expect(t, get("/v1/pets"), ok(`[]`))
		s.expect(t, post(`{"name":"Rex","categoryId":7}`, "Idempotency-Key: one"), created("").with("-Idempotency-Replayed"))
	})
}

// slowKeys has a store that does not answer within the time of a request.
func slowKeys(services *rest.Services) { services.Keys = stuck{} }

type stuck struct{}

func (stuck) Authenticate(ctx context.Context, _ string) (domain.APIKey, error) {
	<-ctx.Done()
	return domain.APIKey{}, domain.Unavailable(ctx.Err())
}

// busy calls act while a transaction of somebody else is under way.
func (s *testServer) busy(t *testing.T, act func()) {
	t.Helper()
	err := s.store.InTx(t.Context(), func(context.Context, domain.Repositories) error {
		act()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestServiceIsReadyUntilItDrains(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/readyz"), ok(`{"status":"ready"}`))
	s.health.Drain()
	s.expect(t, get("/readyz"), refused(503, "unavailable").with("Retry-After: 1"))
	s.expect(t, send("HEAD", "/readyz"), want{status: 503}.with("Retry-After: 1"))
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
	s.expect(t, get("/v1/pets"), ok(`[]`))
	if faults := s.log.FilterMessage("request failed").Len(); faults != 0 {
		t.Errorf("the log tells of %d faults, but the service was told to stop", faults)
	}
}

func TestReadinessAsksTheStoreARealQuestion(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.exec(t, `DROP TABLE pets`)
	s.expect(t, get("/readyz"), refused(503, "unavailable"))
	s.expect(t, get("/livez"), ok(""))
}

func TestHealthIsThatOfItsPing(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	s.health = server.NewHealth(func(context.Context) error { return domain.Unavailable(context.DeadlineExceeded) })
	s.listen(t, s.engine(t, nil, defaultServices))
	s.expect(t, get("/readyz"), refused(503, "unavailable").without("deadline"))
	s.expect(t, get("/livez"), ok(`{"status":"alive"}`))
}
