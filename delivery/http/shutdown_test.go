package http_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
)

var errBroken = errors.New("the listener is broken")

// A brokenListener fails with errBroken, and not with net.ErrClosed, once it is closed.
type brokenListener struct{ net.Listener }

func (l brokenListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, errBroken
	}
	return conn, nil
}

func TestServeDrainsRequestsWhenTheListenerFails(t *testing.T) {
	t.Parallel()
	for name, stopping := range map[string]bool{"while serving": false, "during the shutdown delay": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, finish := make(chan struct{}), make(chan struct{})
			release := sync.OnceFunc(func() { close(finish) })
			defer release()
			handler := http.NewServeMux()
			handler.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) { close(arrived); <-finish })
			handler.HandleFunc("/fast", func(http.ResponseWriter, *http.Request) {})
			timeouts := patient
			timeouts.Delay = time.Second
			listener := loopback(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			served := make(chan error, 1)
			go func() { served <- server.Serve(ctx, brokenListener{listener}, handler, timeouts, zap.NewNop()) }()

			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			get := func(path string) (closed bool, err error) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, http.NoBody)
				if err != nil {
					return false, err
				}
				res, err := transport.RoundTrip(req)
				if err != nil {
					return false, err
				}
				defer res.Body.Close()
				_, err = io.Copy(io.Discard, res.Body)
				return res.Close, err
			}
			answered := make(chan error, 1)
			go func() { _, err := get("/slow"); answered <- err }()
			<-arrived
			// The connection of this one stays open after the listener has failed.
			if _, err := get("/fast"); err != nil {
				t.Fatal(err)
			}
			if stopping {
				stop()
			}
			listener.Close()
			for draining := false; !draining; {
				select {
				case err := <-served:
					t.Fatalf("Serve returned (%v) while a request ran", err)
				default:
				}
				closed, err := get("/fast")
				draining = closed || err != nil
			}
			release()
			if err := <-answered; err != nil {
				t.Errorf("the running request: %v", err)
			}
			if err := <-served; !errors.Is(err, errBroken) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Serve returned %v, want %v alone", err, errBroken)
			}
		})
	}
}
