package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"example.com/petstore"
	"example.com/petstore/config"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/test/testkit"
)

// Otherwise a second service on a file would say nothing for 30 seconds.
func TestRunLogsThatTheStoreIsStillBeingOpened(t *testing.T) {
	t.Parallel()
	settings, err := config.Load(config.Options{Overrides: map[string]string{"server.address": "127.0.0.1:0", "admin.address": ""}})
	testkit.Check(t, err)
	logged, failure := make(lines, 10), errors.New("another service serves it")
	err = Run(t.Context(), settings, Options{Stderr: logged, Open: func(context.Context, petstore.Options) (*petstore.Service, error) {
		for line := range logged {
			if strings.Contains(line, "the store is still being opened") {
				break
			}
		}
		return nil, failure
	}})
	testkit.WantError(t, "Run", err, failure)
}

// lines is an io.Writer that sends what is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// net/http counts in whole seconds how long a new connection may be silent. The clock of synctest begins with a second, so the
// connection stays open as long as possible. net/http looks for such connections at random intervals.
func TestShortestShutdownTimeoutSufficesForSilentConnection(t *testing.T) {
	t.Parallel()
	timeouts := serverTimeouts(config.Server{ReadHeaderTimeout: time.Minute, ShutdownTimeout: 7 * time.Second})
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			client, accepted := net.Pipe()
			defer client.Close()
			listener := &pipeListener{accepted: make(chan net.Conn, 1), closed: make(chan struct{})}
			listener.accepted <- accepted
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- server.Serve(ctx, listener, http.NotFoundHandler(), timeouts, zap.NewNop()) }()
			synctest.Wait() // the server reads from the connection
			stop()
			testkit.Check(t, <-served)
		})
	}
}

// A pipeListener accepts connections until it is closed.
type pipeListener struct {
	accepted  chan net.Conn
	closed    chan struct{}
	closeOnce sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return nil
}

func (*pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
