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
	"time"

	"golang.org/x/net/nettest"

	"example.com/petstore/delivery/http/server"
)

// pipe is a connection that a listener accepted, and its other side.
func pipe(listener net.Listener) (accepted, dialled net.Conn, stop func(), err error) {
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

func loopback(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func TestConnectionWithLazyDeadlinesIsAConnection(t *testing.T) {
	t.Parallel()
	listener := server.LazyDeadlines(loopback(t))
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) { return pipe(listener) })
}

func TestLazyDeadlineMoves(t *testing.T) {
	t.Parallel()
	const soon, late, never = 20 * time.Millisecond, 30 * time.Second, 0
	for name, test := range map[string]struct{ first, then time.Duration }{
		"nearer": {late, soon}, "farther": {soon, 4 * soon}, "from none": {never, soon},
	} {
		for direction, wait := range map[string]func(net.Conn) error{
			"read": func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
			"write": func(c net.Conn) error {
				_, err := io.Copy(c, zeros{}) // until the buffers of the system are full
				return err
			},
		} {
			for _, waits := range []bool{false, true} {
				t.Run(name+" "+direction, func(t *testing.T) {
					t.Parallel()
					accepted, _, stop, err := pipe(server.LazyDeadlines(loopback(t)))
					if err != nil {
						t.Fatal(err)
					}
					defer stop()
					start := time.Now()
					set := func(in time.Duration) {
						var at time.Time
						if in != never {
							at = start.Add(in)
						}
						if err := accepted.SetDeadline(at); err != nil {
							t.Error(err)
						}
					}
					set(test.first)
					if waits {
						time.AfterFunc(soon/2, func() { set(test.then) })
					} else {
						set(test.then)
					}
					err = wait(accepted)
					if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took < test.then || took > late/2 {
						t.Errorf("got %v after %s, want a timeout after %s", err, took, test.then)
					}
				})
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A timer that fires too early in the middle of a write is no reason to send a byte
// twice or not at all.
func TestWriteGoesOnWhenTheTimerFiredTooEarly(t *testing.T) {
	t.Parallel()
	accepted, dialled, stop, err := pipe(server.LazyDeadlines(loopback(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	sent := make([]byte, 32<<20) // more than the system buffers
	for i := range sent {
		sent[i] = byte(i % 251)
	}
	const soon = 20 * time.Millisecond
	if err := accepted.SetWriteDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(soon/2, func() { _ = accepted.SetWriteDeadline(time.Now().Add(30 * time.Second)) })
	written := make(chan error, 1)
	go func() {
		n, err := accepted.Write(sent)
		if n != len(sent) {
			err = errors.Join(err, io.ErrShortWrite)
		}
		written <- errors.Join(err, accepted.(interface{ CloseWrite() error }).CloseWrite())
	}()
	time.Sleep(2 * soon)
	received, err := io.ReadAll(dialled)
	if err != nil || !bytes.Equal(received, sent) {
		t.Errorf("received %d bytes of %d as they were sent: %t, %v", len(received), len(sent), bytes.Equal(received, sent), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// timers counts how often timers of connections are set.
type timers struct {
	net.Listener
	set *atomic.Int64
}

func (l timers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return timed{conn, l.set}, err
}

type timed struct {
	net.Conn
	set *atomic.Int64
}

func (c timed) SetReadDeadline(at time.Time) error {
	c.set.Add(1)
	return c.Conn.SetReadDeadline(at)
}

func (c timed) SetWriteDeadline(at time.Time) error {
	c.set.Add(1)
	return c.Conn.SetWriteDeadline(at)
}

// The deadlines are moved as net/http moves them for a request.
func TestTimersAreSetOnceForManyRequests(t *testing.T) {
	t.Parallel()
	var set atomic.Int64
	accepted, dialled, stop, err := pipe(server.LazyDeadlines(timers{loopback(t), &set}))
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
	if n := set.Load(); n != 2 {
		t.Errorf("timers were set %d times, want once to read and once to write", n)
	}
}
