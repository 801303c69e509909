package server

import (
	"errors"
	"net"
	"sync"
)

// LimitConnections returns a listener that accepts a connection only when fewer than limit connections are open. It
// differs from netutil.LimitListener in that its connections have CloseWrite: without it, net/http resets a connection
// after a response such as 431, and the client may lose the response.
func LimitConnections(listener net.Listener, limit int) net.Listener {
	closed := make(chan struct{})
	return &limitListener{listener, make(chan struct{}, limit), closed, sync.OnceFunc(func() { close(closed) })}
}

type limitListener struct {
	net.Listener
	open       chan struct{} // has one value for each open connection
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

// CloseWrite closes the sending side of the connection. net/http calls it before it closes a connection from which
// it has not read the whole request, so that the client receives the response.
func (c *limitedConn) CloseWrite() error {
	if conn, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return errors.ErrUnsupported
}
