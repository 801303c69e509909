package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore/delivery/http/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// longTimeouts do not expire in a test.
var longTimeouts = server.Timeouts{
	ReadHeader: 20 * time.Second, Read: 20 * time.Second, Write: 20 * time.Second, Idle: 20 * time.Second, Shutdown: 20 * time.Second,
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// get requests a path and returns the body of the response, and whether the connection is closed after it.
func get(t *testing.T, client *http.Client, listener net.Listener, path string) (body string, closed bool, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, http.NoBody)
	if err != nil {
		return "", false, err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", false, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), res.Close, err
}

func TestServeReturnsListenerError(t *testing.T) {
	t.Parallel()
	listener := listenLoopback(t)
	listener.Close()
	if err := server.Serve(t.Context(), listener, http.NotFoundHandler(), longTimeouts, zap.NewNop()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v, want %v", err, net.ErrClosed)
	}
}

// An emfileListener fails once with EMFILE and then with net.ErrClosed.
type emfileListener struct {
	net.Listener
	failed bool
}

func (l *emfileListener) Accept() (net.Conn, error) {
	if l.failed {
		return nil, net.ErrClosed
	}
	l.failed = true
	return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
}

func TestServeLogsAcceptErrorAsWarning(t *testing.T) {
	t.Parallel()
	core, log := observer.New(zap.DebugLevel)
	err := server.Serve(t.Context(), &emfileListener{Listener: listenLoopback(t)}, http.NotFoundHandler(), longTimeouts, zap.New(core))
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v, want %v", err, net.ErrClosed)
	}
	if got := log.FilterLevelExact(zap.WarnLevel).FilterMessageSnippet("Accept error").Len(); got != 1 {
		t.Errorf("got %d warnings, want 1: %v", got, log.All())
	}
}

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
			started, finish := make(chan struct{}), make(chan struct{})
			release := sync.OnceFunc(func() { close(finish) })
			defer release()
			handler := http.NewServeMux()
			handler.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) { close(started); <-finish })
			handler.HandleFunc("/fast", func(http.ResponseWriter, *http.Request) {})
			timeouts := longTimeouts
			timeouts.Delay = time.Second
			listener := listenLoopback(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			served := make(chan error, 1)
			go func() { served <- server.Serve(ctx, brokenListener{listener}, handler, timeouts, zap.NewNop()) }()

			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			slow := make(chan error, 1)
			go func() { _, _, err := get(t, client, listener, "/slow"); slow <- err }()
			<-started
			// This connection stays open after the listener has failed.
			if _, _, err := get(t, client, listener, "/fast"); err != nil {
				t.Fatal(err)
			}
			if stopping {
				stop()
			}
			listener.Close()
			for draining := false; !draining; {
				select {
				case err := <-served:
					t.Fatalf("Serve returned %v while a request was running", err)
				default:
				}
				_, closed, err := get(t, client, listener, "/fast")
				draining = closed || err != nil
			}
			release()
			if err := <-slow; err != nil {
				t.Errorf("the running request failed: %v", err)
			}
			if err := <-served; !errors.Is(err, errBroken) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Serve returned %v, want %v alone", err, errBroken)
			}
		})
	}
}

func TestShutdownWaitsForARequestThatLastsLongerThanIdleConnections(t *testing.T) {
	t.Parallel()
	listener := listenLoopback(t)
	ctx, stop := context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stop()
		time.Sleep(time.Second) // idle connections are closed after half of it
		_, _ = io.WriteString(w, "done")
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, handler, longTimeouts, zap.NewNop()) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if body, _, err := get(t, client, listener, "/"); err != nil || body != "done" {
		t.Errorf("got %q and %v, want the whole response", body, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServeIgnoresErrorOfListenerThatItClosed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	listener := brokenListener{listenLoopback(t)}
	if err := server.Serve(ctx, listener, http.NotFoundHandler(), longTimeouts, zap.NewNop()); err != nil {
		t.Errorf("Serve returned %v after a normal shutdown", err)
	}
}

// A client that does not read its responses keeps memory in use for each request.
func TestHTTP2ConnectionHasAtMost100Streams(t *testing.T) {
	t.Parallel()
	withCertificate := httptest.NewTLSServer(http.NotFoundHandler())
	defer withCertificate.Close()
	config := &tls.Config{Certificates: withCertificate.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	listener := listenLoopback(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(ctx, tls.NewListener(listener, config), http.NotFoundHandler(), longTimeouts, zap.NewNop())
	}()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	client, err := transport.NewClientConn(ctx, "https", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+listener.Addr().String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.RoundTrip(req) // its response follows the settings (RFC 9113, section 3.4)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := client.Available(); got != 100 {
		t.Errorf("got %d streams, want 100", got)
	}
	_ = client.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
