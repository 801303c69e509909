package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// LazyDeadlines returns a listener of connections whose deadlines cost little to
// move. net/http moves those of a connection eight times for each request, and the
// system's connections move a timer each time, which hardly ever fires. These leave
// the timer where it is as long as it does not fire too late, and set it anew when
// it has fired too early. TLS goes above them, where net/http can see it.
func LazyDeadlines(listener net.Listener) net.Listener { return lazyListener{listener} }

type lazyListener struct{ net.Listener }

// Accept implements net.Listener.
func (l lazyListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &lazyConn{Conn: accepted}
	c.read.set, c.write.set = accepted.SetReadDeadline, accepted.SetWriteDeadline
	return c, nil
}

type lazyConn struct {
	net.Conn
	read, write lazyDeadline
}

// A lazyDeadline is that of one direction of a connection.
type lazyDeadline struct {
	set func(time.Time) error // the timer

	mu      sync.Mutex
	wanted  time.Time // zero for none, like timer
	timer   time.Time
	waiting int // operations
}

// longAgo is after the deadline by which net/http interrupts a read, and before any other.
var longAgo = time.Unix(2, 0)

// move moves the deadline, also that of the operations that wait.
func (d *lazyDeadline) move(to time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = to
	if d.waiting == 0 {
		return nil
	}
	return d.hasten()
}

// hasten sets the timer if it would fire too late.
func (d *lazyDeadline) hasten() error {
	if d.wanted.IsZero() || !d.timer.IsZero() && !d.timer.After(d.wanted) {
		return nil
	}
	d.timer = d.wanted
	return d.set(d.timer)
}

// begin begins an operation.
func (d *lazyDeadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wanted.IsZero() && d.wanted.Before(longAgo) {
		return os.ErrDeadlineExceeded // and the timer need not move there and back
	}
	if err := d.hasten(); err != nil {
		return err
	}
	d.waiting++
	return nil
}

// end ends an operation. It reports whether that is to be tried again, because the
// timer fired too early.
func (d *lazyDeadline) end(err error) (again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting--
	if !errors.Is(err, os.ErrDeadlineExceeded) || d.wanted.Equal(d.timer) {
		return false
	}
	d.timer = d.wanted
	_ = d.set(d.timer) // fails on a closed connection, which the next try tells
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
func (c *lazyConn) SetReadDeadline(at time.Time) error { return c.read.move(at) }

// SetWriteDeadline implements net.Conn.
func (c *lazyConn) SetWriteDeadline(at time.Time) error { return c.write.move(at) }

// SetDeadline implements net.Conn.
func (c *lazyConn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// CloseWrite ends what is sent. net/http does so before it closes the connection of
// a request that it did not read to the end, for the answer to arrive.
func (c *lazyConn) CloseWrite() error {
	if sender, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return sender.CloseWrite()
	}
	return errors.ErrUnsupported
}
