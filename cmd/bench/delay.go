package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// delayed starts a proxy for a PostgreSQL server at a port of this machine. It returns the DSN of the
// server with the port of the proxy. The proxy delays data in each direction, and ends with ctx.
func delayed(ctx context.Context, dsn, port string, delay time.Duration) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
			if err != nil {
				_ = client.Close()
				continue
			}
			go passOn(server, client, delay)
			go passOn(client, server, delay)
		}
	}()
	server, database, found := strings.Cut(dsn, ":"+port+"/")
	if !found {
		return "", fmt.Errorf("the DSN %s has no port %s", dsn, port)
	}
	_, proxy, err := net.SplitHostPort(listener.Addr().String())
	return server + ":" + proxy + "/" + database, err
}

// passOn copies data from one connection to another, each part after a delay, until one of them is closed.
// Then it closes both.
func passOn(to, from net.Conn, delay time.Duration) {
	type part struct {
		data []byte
		due  time.Time
	}
	parts := make(chan part, 1024)
	go func() {
		defer close(parts)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if err != nil {
				return
			}
			parts <- part{data[:n], time.Now().Add(delay)}
		}
	}()
	for p := range parts {
		for wait := time.Until(p.due); wait > 0; wait = time.Until(p.due) { // again after a signal
			timespec := unix.NsecToTimespec(wait.Nanoseconds())
			_ = unix.Nanosleep(&timespec, nil) // time.Sleep would take up to a millisecond
		}
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	for range parts { // until the other goroutine has ended
	}
}
