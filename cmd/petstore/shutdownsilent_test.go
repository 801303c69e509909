package main

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestShortestShutdownTimeoutSufficesForSilentConnection opens a connection at the beginning
// of a second: net/http counts in whole seconds for how long a new connection may be silent.
func TestShortestShutdownTimeoutSufficesForSilentConnection(t *testing.T) {
	t.Parallel()
	s := startServer(t, t.TempDir(), "--set", "server.shutdown_timeout=7s", "--set", "server.read_header_timeout=1m")
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s.wantStatus(t, "/livez", 200) // the server has accepted both connections
	s.signal(t, syscall.SIGTERM)
	s.wantExitOK(t)
}
