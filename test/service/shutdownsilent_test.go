package service

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// TestShortestShutdownTimeoutSufficesForSilentConnection opens a connection at the beginning
// of a second: net/http counts in whole seconds for how long a new connection may be silent.
func TestShortestShutdownTimeoutSufficesForSilentConnection(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "server.shutdown_timeout=7s", "--set", "server.read_header_timeout=1m")
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s.WantStatus(t, "/livez", 200) // the server has accepted both connections
	s.Signal(t, syscall.SIGTERM)
	s.WantExitOK(t)
}
