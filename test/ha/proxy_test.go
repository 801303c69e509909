package ha_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/internal/test/testkit"
)

// A proxy forwards TCP connections to a server. While it is cut, it accepts connections and data but
// forwards nothing, like a network that loses all packets. When it is mended, it continues.
type proxy struct {
	address, target string
	network         sync.RWMutex // locked while the network is cut
	drops           atomic.Int64 // how often received data was dropped
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Check(t, err)
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

// drop mends the network. It closes the connections to a server that was killed and drops the data that
// they have received.
func (p *proxy) drop() {
	p.drops.Add(1)
	p.setCut(false)
}

func (p *proxy) waitUntilMended() {
	p.network.RLock()
	defer p.network.RUnlock()
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	p.waitUntilMended()
	drops := p.drops.Load()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	forward := func(from, to net.Conn) {
		defer to.Close()
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			p.waitUntilMended()
			if p.drops.Load() != drops {
				return
			}
			if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
				return
			}
		}
	}
	go forward(client, server)
	forward(server, client)
}
