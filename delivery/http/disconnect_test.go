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

// waitForLine returns the only line of the access log as soon as it is there.
func (s *testServer) waitForLine(t *testing.T) map[string]any {
	t.Helper()
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(time.Millisecond) {
		if lines := s.accessLog(t); len(lines) == 1 {
			return lines[0]
		}
	}
	t.Fatalf("got the access log %v, want one line", s.accessLog(t))
	return nil
}

func TestClientThatDisconnectsIsCountedAs499(t *testing.T) {
	t.Parallel()
	for name, disconnect := range map[string]func(net.Conn) error{
		"closed":      net.Conn.Close,
		"half closed": func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s, registry := newCounter(), newUnstartedServer(t), prometheus.NewRegistry()
			engine := gin.New()
			engine.Use(gin.RecoveryWithWriter(io.Discard)) // of a host
			api := s.api(t, func(services *rest.Services) {
				services.Pets = catalogue{Pets: services.Pets, get: c.get}
			}, rest.WithMetrics(registry))
			if err := api.Register(engine.Group("/v1")); err != nil {
				t.Fatal(err)
			}
			s.listen(t, engine)

			conn := s.dial(t, "GET /v1/pets/1 HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer "+s.key+"\r\n\r\n")
			<-c.arrived
			if err := disconnect(conn); err != nil {
				t.Fatal(err)
			}
			if line := s.waitForLine(t); line["status"] != int64(499) {
				t.Errorf("got the access log %v, want the status 499", line)
			}
			if diff := cmp.Diff(map[string]string{"GET /v1/pets/:petId 499": "1"}, counts(t, registry)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if got := s.log.FilterLevelExact(zap.DebugLevel).FilterMessage("the client disconnected").Len(); got != 1 || s.log.Len() != 2 {
				t.Errorf("got the log %v, want the line of the request and one at debug", s.log.All())
			}
			if name == "half closed" {
				if received, err := io.ReadAll(conn); err != nil || len(received) > 0 {
					t.Errorf("received %q and the error %v, want nothing", received, err)
				}
			}
		})
	}
}

func TestWriteWhoseClientDisconnectsBeforeItBeganStaysUnwritten(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	began := make(chan struct{})
	s.listen(t, s.engine(t, nil, func(services *rest.Services) {
		pets := services.Pets
		services.Pets = createFunc{pets, func(ctx context.Context) (domain.Pet, error) {
			close(began)
			pet, _, err := pets.Create(ctx, domain.NewPet{Name: "Rex", CategoryID: 7}, domain.IdempotencyKey{})
			return pet, err
		}}
	}))
	s.busy(t, func() {
		conn := s.dial(t, s.begin("Content-Length: 29", newRex))
		<-began
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if line := s.waitForLine(t); line["status"] != int64(499) {
			t.Errorf("got the access log %v, want the status 499", line)
		}
	})
	s.expect(t, get("/v1/pets"), ok(`[]`))
}
