package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"example.com/petstore/delivery/http/server"
)

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

func TestLazyDeadlinesConformToNetConn(t *testing.T) {
	t.Parallel()
	listener := server.LazyDeadlines(listenLoopback(t))
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) { return connPair(listener) })
}

func TestLimitedConnectionsConformToNetConn(t *testing.T) {
	t.Parallel()
	listener := server.LimitConnections(listenLoopback(t), 1) // a second pair needs that the first was closed
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) { return connPair(listener) })
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
