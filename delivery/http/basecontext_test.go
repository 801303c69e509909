package http_test

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/gin-gonic/gin"
)

func TestRequestIsUnavailableWhenTheHostEndsItsContext(t *testing.T) {
	t.Parallel()
	for name, newContext := range map[string]func() (ctx context.Context, end func() error, stop func()){
		"on a signal": func() (context.Context, func() error, func()) {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP)
			self, err := os.FindProcess(os.Getpid())
			return ctx, func() error { return errors.Join(err, self.Signal(syscall.SIGHUP)) }, stop
		},
		"with a cause": func() (context.Context, func() error, func()) {
			ctx, cancel := context.WithCancelCause(context.Background())
			return ctx, func() error { cancel(errors.New("the host shuts down")); return nil }, func() { cancel(nil) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end, stop := newContext()
			defer stop()
			pets, s := newBlockingGet(), newUnstartedServer(t)
			engine := gin.New()
			api := s.api(t, withGet(pets.get))
			if err := api.Mount(engine.Group("/v1")); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(engine)
			server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
			server.Start()
			defer server.Close()
			s.url, s.client = server.URL, server.Client()
			ended := make(chan error, 1)
			go func() { <-pets.started; ended <- end() }()
			s.expect(t, get("/v1/pets/1"), rejected(503, "unavailable"))
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if line := s.waitForAccessLog(t); line["status"] != int64(503) {
				t.Errorf("got the access log %v, want the status 503", line)
			}
		})
	}
}
