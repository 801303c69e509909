package ha_test

import (
	"net"
	"sync"
	"testing"

	"example.com/petstore/test/harness"
)

// A proxy forwards TCP connections to a server. While it is cut, it accepts everything and
// forwards nothing, as a network that loses all packets; then it goes on.
type proxy struct {
	address, target string
	network         sync.RWMutex // locked while it is cut
	conns           sync.Map     // of net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Check(t, err)
	t.Cleanup(func() { listener.Close() })
	p := &proxy{address: listener.Addr().String(), target: target}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *proxy) setCut(cut bool) {
	if cut {
		p.network.Lock()
	} else {
		p.network.Unlock()
	}
}

// drop closes all connections, without forwarding what they have received, and mends the
// network.
func (p *proxy) drop() {
	p.conns.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
	p.setCut(false)
}

func (p *proxy) waitUntilMended() {
	p.network.RLock()
	defer p.network.RUnlock()
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	p.waitUntilMended()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	for _, conn := range []net.Conn{client, server} {
		p.conns.Store(conn, nil)
		defer p.conns.Delete(conn)
	}
	var wait sync.WaitGroup
	wait.Go(func() { p.forward(client, server) })
	wait.Go(func() { p.forward(server, client) })
	wait.Wait()
}

func (p *proxy) forward(from, to net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.waitUntilMended()
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}
