package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// LazyDeadlines returns a listener whose connections reset their timers rarely. net/http
// sets the deadlines of a connection eight times per request, and each call of the inner
// connection resets a timer. These connections reset the timer only if it would fire too
// late or has fired too early. Wrap the listener in TLS, not the reverse, so that net/http
// sees the TLS connections.
func LazyDeadlines(listener net.Listener) net.Listener { return lazyListener{listener} }

type lazyListener struct{ net.Listener }

// Accept implements net.Listener.
func (l lazyListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &lazyConn{Conn: accepted}
	c.read.setTimer, c.write.setTimer = accepted.SetReadDeadline, accepted.SetWriteDeadline
	return c, nil
}

type lazyConn struct {
	net.Conn
	read, write lazyDeadline
}

// A lazyDeadline is the read or the write deadline of a connection.
type lazyDeadline struct {
	setTimer func(time.Time) error

	mu       sync.Mutex
	deadline time.Time // zero for none
	timer    time.Time // zero for none
	pending  int       // operations
}

// longAgo is later than the deadline with which net/http interrupts a read, and earlier
// than any other.
var longAgo = time.Unix(2, 0)

// set sets the deadline, also of pending operations.
func (d *lazyDeadline) set(deadline time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deadline = deadline
	if d.pending == 0 {
		return nil
	}
	return d.advanceTimer()
}

// advanceTimer resets the timer if it would fire after the deadline.
func (d *lazyDeadline) advanceTimer() error {
	if d.deadline.IsZero() || !d.timer.IsZero() && !d.timer.After(d.deadline) {
		return nil
	}
	d.timer = d.deadline
	return d.setTimer(d.timer)
}

// begin begins an operation.
func (d *lazyDeadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.deadline.IsZero() && d.deadline.Before(longAgo) {
		return os.ErrDeadlineExceeded // without resetting the timer twice
	}
	if err := d.advanceTimer(); err != nil {
		return err
	}
	d.pending++
	return nil
}

// end ends an operation. It reports whether to retry it, because the timer fired before
// the deadline.
func (d *lazyDeadline) end(err error) (retry bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending--
	if !errors.Is(err, os.ErrDeadlineExceeded) || d.deadline.Equal(d.timer) {
		return false
	}
	d.timer = d.deadline
	_ = d.setTimer(d.timer) // fails on a closed connection, as will the retry
	return true
}

// Read implements net.Conn.
func (c *lazyConn) Read(p []byte) (int, error) {
	for {
		if err := c.read.begin(); err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(p)
		if !c.read.end(err) {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *lazyConn) Write(p []byte) (written int, err error) {
	for {
		if err := c.write.begin(); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		if !c.write.end(err) {
			return written, err
		}
	}
}

// SetReadDeadline implements net.Conn.
func (c *lazyConn) SetReadDeadline(at time.Time) error { return c.read.set(at) }

// SetWriteDeadline implements net.Conn.
func (c *lazyConn) SetWriteDeadline(at time.Time) error { return c.write.set(at) }

// SetDeadline implements net.Conn.
func (c *lazyConn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// CloseWrite closes the sending side. net/http calls it before it closes a connection with
// an unread request, so that the client receives the response.
func (c *lazyConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(conn net.Conn) error {
	if conn, ok := conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return errors.ErrUnsupported
}

// LimitConnections returns a listener that accepts the next connection when fewer than limit
// are open. Unlike those of netutil.LimitListener, its connections have CloseWrite.
func LimitConnections(listener net.Listener, limit int) net.Listener {
	closed := make(chan struct{})
	return &limitListener{listener, make(chan struct{}, limit), closed, sync.OnceFunc(func() { close(closed) })}
}

type limitListener struct {
	net.Listener
	open       chan struct{} // has a value for each connection
	closed     chan struct{}
	markClosed func()
}

// Accept implements net.Listener.
func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	accepted, err := l.Listener.Accept()
	if err != nil {
		<-l.open
		return nil, err
	}
	return &limitedConn{Conn: accepted, release: sync.OnceFunc(func() { <-l.open })}, nil
}

// Close implements net.Listener.
func (l *limitListener) Close() error {
	l.markClosed()
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite closes the sending side; see lazyConn.CloseWrite.
func (c *limitedConn) CloseWrite() error { return closeWrite(c.Conn) }
