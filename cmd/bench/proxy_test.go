package main

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// dialEcho connects to a server that sends back what it gets, through a proxy.
func dialEcho(t *testing.T, delay time.Duration) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	address, err := startProxy(t.Context(), listener.Addr().String(), delay)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestProxyDelaysEachDirection(t *testing.T) {
	t.Parallel()
	const delay = 5 * time.Millisecond
	conn := dialEcho(t, delay)
	for range 5 {
		start := time.Now()
		if _, err := conn.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != "ping" {
			t.Fatalf("got %q, %v", got, err)
		}
		if took := time.Since(start); took < 2*delay {
			t.Errorf("the round trip took %v, want %v or more", took, 2*delay)
		}
	}
}

// The data is more than the proxy and both sockets can hold, and arrives in order.
func TestProxyForwardsInOrder(t *testing.T) {
	t.Parallel()
	conn := dialEcho(t, time.Millisecond)
	const numbers = 8 << 20
	go func() {
		var block []byte
		for i := range uint32(numbers) {
			if block = binary.BigEndian.AppendUint32(block, i); len(block) == 1<<20 {
				_, _ = conn.Write(block) // the reader fails
				block = block[:0]
			}
		}
	}()
	block := make([]byte, 1<<20)
	for next := uint32(0); next < numbers; {
		if _, err := io.ReadFull(conn, block); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(block); i += 4 {
			if got := binary.BigEndian.Uint32(block[i:]); got != next {
				t.Fatalf("got the number %d, want %d", got, next)
			}
			next++
		}
	}
}

func TestProxyForwardsEndOfConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address, err := startProxy(t.Context(), listener.Addr().String(), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write([]byte("bye")); err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	if got, err := io.ReadAll(client); err != nil || string(got) != "bye" {
		t.Errorf("got %q, %v", got, err)
	}
}
