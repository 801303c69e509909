package http_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// waitForAccessLog returns the only line of the access log once it is written.
func (s *testServer) waitForAccessLog(t *testing.T) map[string]any {
	t.Helper()
	for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(time.Millisecond) {
		if lines := s.accessLog(t); len(lines) == 1 {
			return lines[0]
		}
	}
	t.Fatalf("got access log %v, want one line", s.accessLog(t))
	return nil
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
			if err := s.api(t, withGet(pets.get), withMetrics(registry)).Mount(engine.Group("/v1")); err != nil {
				t.Fatal(err)
			}
			s.start(t, engine)

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

func TestClientDisconnectBeforeTransactionLeavesStoreUnchanged(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	started := make(chan struct{})
	s.start(t, s.engine(t, nil, func(services *rest.Options) {
		pets := services.Pets
		services.Pets = petsWithCreate{pets, func(ctx context.Context) (domain.Pet, error) {
			close(started)
			pet, _, err := pets.Create(ctx, domain.NewPet{Name: "Rex", CategoryID: 7}, domain.IdempotencyKey{})
			return pet, err
		}}
	}))
	s.whileStoreBusy(t, func() {
		conn := s.dial(t, s.rawPost("Content-Length: 29", newRex))
		<-started
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if line := s.waitForAccessLog(t); line["status"] != int64(499) {
			t.Errorf("got access log line %v, want status 499", line)
		}
	})
	s.expect(t, get("/v1/pets"), ok(`[]`))
}
