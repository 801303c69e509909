package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/net/nettest"

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
	for name, listener := range map[string]net.Listener{
		"lazy deadlines": server.LazyDeadlines(listenLoopback(t)),
		"limited":        server.LimitConnections(listenLoopback(t), 1), // a second pair needs that the first was closed
	} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) { return connPair(listener) })
		})
	}
}

func TestClosedListenerAcceptsNoMoreAtItsLimit(t *testing.T) {
	t.Parallel()
	listener := server.LimitConnections(listenLoopback(t), 1)
	_, _, stop, err := connPair(listener)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	accepted := make(chan error, 1)
	go func() {
		_, err := listener.Accept()
		accepted <- err
	}()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
	_ = listener.Close() // as net/http does, too
}

// A pipeListener accepts connections in memory, whose deadlines follow the clock of synctest.
type pipeListener struct {
	net.Listener
	accepted net.Conn
}

func (l pipeListener) Accept() (net.Conn, error) { return l.accepted, nil }

// lazyPipe returns both ends of a connection in memory, the first with lazy deadlines.
func lazyPipe(t *testing.T) (accepted, dialled net.Conn) {
	t.Helper()
	inner, dialled := net.Pipe()
	accepted, err := server.LazyDeadlines(pipeListener{accepted: inner}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accepted.Close(); _ = dialled.Close() })
	return accepted, dialled
}

func TestLazyDeadlineCanBeReplaced(t *testing.T) {
	t.Parallel()
	const soon, late, never = time.Second, time.Minute, 0
	for name, tc := range map[string]struct{ first, second time.Duration }{
		"earlier": {late, soon}, "later": {soon, 4 * soon}, "from none": {never, soon},
	} {
		for direction, operation := range map[string]func(net.Conn) error{
			"read":  func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
			"write": func(c net.Conn) error { _, err := c.Write(make([]byte, 1)); return err },
		} {
			for _, duringOperation := range []bool{false, true} {
				t.Run(name+" "+direction, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						accepted, _ := lazyPipe(t)
						start := time.Now()
						setDeadline := func(in time.Duration) {
							var at time.Time
							if in != never {
								at = start.Add(in)
							}
							if err := accepted.SetDeadline(at); err != nil {
								t.Error(err)
							}
						}
						setDeadline(tc.first)
						if duringOperation {
							time.AfterFunc(soon/2, func() { setDeadline(tc.second) })
						} else {
							setDeadline(tc.second)
						}
						err := operation(accepted)
						if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != tc.second {
							t.Errorf("got %v after %s, want a timeout after %s", err, took, tc.second)
						}
					})
				})
			}
		}
	}
}

// No byte may be lost or sent twice when a timer for an earlier deadline interrupts a write.
func TestWriteContinuesAfterEarlyTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		accepted, dialled := lazyPipe(t)
		sent := []byte("0123456789")
		if err := accepted.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() {
			n, err := accepted.Write(sent)
			if n != len(sent) {
				err = errors.Join(err, io.ErrShortWrite)
			}
			written <- errors.Join(err, accepted.Close())
		}()
		first := make([]byte, 3)
		if _, err := io.ReadFull(dialled, first); err != nil { // the write has set the timer
			t.Fatal(err)
		}
		if err := accepted.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // the timer fires
		received, err := io.ReadAll(dialled)
		if received = append(first, received...); err != nil || !bytes.Equal(received, sent) {
			t.Errorf("received %q and %v, want %q", received, err, sent)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

// A countingListener counts the deadlines that are set on its connections.
type countingListener struct {
	net.Listener
	calls *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countingConn{conn, l.calls}, err
}

type countingConn struct {
	net.Conn
	calls *atomic.Int64
}

func (c countingConn) SetReadDeadline(at time.Time) error {
	c.calls.Add(1)
	return c.Conn.SetReadDeadline(at)
}

func (c countingConn) SetWriteDeadline(at time.Time) error {
	c.calls.Add(1)
	return c.Conn.SetWriteDeadline(at)
}

// The calls are those of net/http for a request.
func TestLazyDeadlinesSetTimersOnceForManyRequests(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	accepted, dialled, stop, err := connPair(server.LazyDeadlines(countingListener{listenLoopback(t), &calls}))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	one := make([]byte, 1)
	for range 100 {
		if _, err := dialled.Write(one); err != nil {
			t.Fatal(err)
		}
		_ = accepted.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := accepted.Read(one); err != nil {
			t.Fatal(err)
		}
		_ = accepted.SetWriteDeadline(time.Now().Add(time.Minute))
		if _, err := accepted.Write(one); err != nil {
			t.Fatal(err)
		}
		_ = accepted.SetReadDeadline(time.Unix(1, 0))
		if _, err := accepted.Read(one); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("got %v, want a timeout", err)
		}
		_ = accepted.SetReadDeadline(time.Time{})
		_ = accepted.SetWriteDeadline(time.Time{})
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("got %d timers, want one for reads and one for writes", n)
	}
}
