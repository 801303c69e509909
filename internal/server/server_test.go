package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/net/nettest"

	"example.com/petstore/internal/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// A listener accepts with a function.
type listener struct {
	net.Listener
	accept func() (net.Conn, error)
}

func (l listener) Accept() (net.Conn, error) { return l.accept() }

var errBroken = errors.New("the listener is broken")

// breaking returns a listener that fails with errBroken instead of net.ErrClosed after it was closed.
func breaking(inner net.Listener) net.Listener {
	return listener{inner, func() (net.Conn, error) {
		conn, err := inner.Accept()
		if err != nil {
			return nil, errBroken
		}
		return conn, nil
	}}
}

// serve serves requests until stop is called. Its timeouts do not expire during a test.
func serve(t *testing.T, l net.Listener, handler http.Handler, delay time.Duration, log *zap.Logger) (stop context.CancelFunc, served <-chan error) {
	t.Helper()
	const long = 20 * time.Second
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	done := make(chan error, 1)
	go func() {
		timeouts := server.Timeouts{ReadHeader: long, Read: long, Write: long, Idle: long, Delay: delay, Shutdown: long}
		done <- server.Serve(ctx, l, handler, timeouts, log)
	}()
	return stop, done
}

// get requests a URL. It returns the body of the response, and whether the connection is closed after it.
func get(t *testing.T, client http.RoundTripper, url string) (body string, closed bool, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", false, err
	}
	res, err := client.RoundTrip(req)
	if err != nil {
		return "", false, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), res.Close, err
}

func TestServeLogsAcceptErrorAsWarning(t *testing.T) {
	t.Parallel()
	core, log := observer.New(zap.DebugLevel)
	failures := []error{&net.OpError{Op: "accept", Err: syscall.EMFILE}, net.ErrClosed}
	_, served := serve(t, listener{listenLoopback(t), func() (net.Conn, error) {
		err := failures[0]
		failures = failures[1:]
		return nil, err
	}}, http.NotFoundHandler(), 0, zap.New(core))
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v, want %v", err, net.ErrClosed)
	}
	if got := log.FilterLevelExact(zap.WarnLevel).FilterMessageSnippet("Accept error").Len(); got != 1 {
		t.Errorf("got %d warnings, want 1: %v", got, log.All())
	}
}

func TestServeDrainsRequestsWhenTheListenerFails(t *testing.T) {
	t.Parallel()
	for name, stopping := range map[string]bool{"while serving": false, "during the shutdown delay": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, finish := make(chan struct{}), make(chan struct{})
			handler := http.NewServeMux()
			handler.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) { close(started); <-finish })
			handler.HandleFunc("/fast", func(http.ResponseWriter, *http.Request) {})
			inner := listenLoopback(t)
			stop, served := serve(t, breaking(inner), handler, time.Minute, zap.NewNop())
			url, client := "http://"+inner.Addr().String(), &http.Transport{}
			defer client.CloseIdleConnections()
			slow := make(chan error, 1)
			go func() { _, _, err := get(t, client, url+"/slow"); slow <- err }()
			<-started
			// This connection stays open after the listener has failed.
			if _, _, err := get(t, client, url+"/fast"); err != nil {
				t.Error(err)
			}
			if stopping {
				stop()
			}
			inner.Close()
			for draining := false; !draining && len(served) == 0; {
				_, closed, err := get(t, client, url+"/fast")
				draining = closed || err != nil
			}
			if len(served) > 0 {
				t.Error("Serve returned while a request was running")
			}
			close(finish)
			if err := <-slow; err != nil {
				t.Errorf("the running request failed: %v", err)
			}
			if err := <-served; !errors.Is(err, errBroken) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Serve returned %v, want %v alone", err, errBroken)
			}
		})
	}
}

// Serve does not return the error of the listener that it has closed itself.
func TestShutdownWaitsForARequestThatLastsLongerThanIdleConnections(t *testing.T) {
	t.Parallel()
	inner, started := listenLoopback(t), make(chan struct{})
	stop, served := serve(t, breaking(inner), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(started)
		time.Sleep(time.Second) // idle connections are closed after half a second
		_, _ = io.WriteString(w, "done")
	}), 0, zap.NewNop())
	go func() { <-started; stop() }()
	client := &http.Transport{}
	defer client.CloseIdleConnections()
	if body, _, err := get(t, client, "http://"+inner.Addr().String()); err != nil || body != "done" {
		t.Errorf("got %q and %v, want the whole response", body, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A client that does not read its responses keeps memory in use for each request.
func TestHTTP2ConnectionHasAtMost100Streams(t *testing.T) {
	t.Parallel()
	withCertificate := httptest.NewTLSServer(http.NotFoundHandler())
	defer withCertificate.Close()
	config := &tls.Config{Certificates: withCertificate.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	inner := listenLoopback(t)
	stop, served := serve(t, tls.NewListener(inner, config), http.NotFoundHandler(), 0, zap.NewNop())
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	client, err := transport.NewClientConn(t.Context(), "https", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := get(t, client, "https://"+inner.Addr().String()); err != nil { // the response follows the settings (RFC 9113, section 3.4)
		t.Fatal(err)
	}
	if got := client.Available(); got != 100 {
		t.Errorf("got %d streams, want 100", got)
	}
	_ = client.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// exchange sends data on a new connection. It returns the response, and whether the server closes the connection after it.
func exchange(t *testing.T, address, data string) (status int, closed bool) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, data); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode, res.Close
}

func TestHeaderLargerThan32KiBIsRejected(t *testing.T) {
	t.Parallel()
	inner := listenLoopback(t)
	stop, served := serve(t, inner, http.NotFoundHandler(), 0, zap.NewNop())
	for size, want := range map[int]int{32 << 10: 404, 32<<10 + 1: 431, 33_000: 431} {
		header := "GET / HTTP/1.1\r\nHost: petstore\r\nX: "
		header += strings.Repeat("x", size-len(header)-len("\r\n\r\n")) + "\r\n\r\n"
		if got, _ := exchange(t, inner.Addr().String(), header); got != want {
			t.Errorf("a header of %d bytes: got %d, want %d", len(header), got, want)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestConnectionEndsAfterATransferEncoding(t *testing.T) {
	t.Parallel()
	inner := listenLoopback(t)
	stop, served := serve(t, inner, http.NotFoundHandler(), 0, zap.NewNop())
	for header, want := range map[string]bool{
		"Content-Length: 3\r\nTransfer-Encoding: chunked": true, "Transfer-Encoding: chunked\r\nContent-Length: 5": true, "Content-Length: 5": false,
	} {
		data := "POST / HTTP/1.1\r\nHost: petstore\r\n" + header + "\r\n\r\n0\r\n\r\n"
		if status, closed := exchange(t, inner.Addr().String(), data); status != 404 || closed != want {
			t.Errorf("%q: got %d and the end of the connection: %t, want 404 and %t", header, status, closed, want)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// connPair returns both ends of a connection to the listener. stop closes them.
func connPair(listener net.Listener) (accepted, dialled net.Conn, stop func(), err error) {
	dialled, err = new(net.Dialer).DialContext(context.Background(), "tcp", listener.Addr().String())
	if err != nil {
		return nil, nil, nil, err
	}
	accepted, err = listener.Accept()
	if err != nil {
		return nil, nil, nil, errors.Join(err, dialled.Close())
	}
	return accepted, dialled, func() { accepted.Close(); dialled.Close() }, nil
}

func TestConnectionsConformToNetConn(t *testing.T) {
	t.Parallel()
	listener := server.LimitConnections(listenLoopback(t), 1) // a second pair is possible only after the first is closed
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) { return connPair(listener) })
}

func TestClosedListenerAcceptsNoMoreAtItsLimit(t *testing.T) {
	t.Parallel()
	limited := server.LimitConnections(listenLoopback(t), 1)
	_, _, stop, err := connPair(limited)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	accepted := make(chan error, 1)
	go func() {
		_, err := limited.Accept()
		accepted <- err
	}()
	if err := limited.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
	_ = limited.Close() // a second Close of the listener does not panic
}
