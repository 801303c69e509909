package service

import (
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// TestSystemdIsNotified does what systemd does for a unit with Type=notify and WatchdogSec=2. NOTIFY_SOCKET
// names its socket.
func TestSystemdIsNotified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "notify.sock")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	testkit.Check(t, err)
	defer func() { _ = systemd.Close() }()
	testkit.Check(t, systemd.SetReadDeadline(time.Now().Add(testkit.Scaled(time.Minute))))
	receive := func() string {
		message := make([]byte, 100)
		n, err := systemd.Read(message)
		testkit.Check(t, err)
		return string(message[:n])
	}
	address := harness.FreeAddress(t)
	cmd := harness.Command(t.Context(), dir, "serve", "--set", "server.address="+address)
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=2000000")
	s := harness.Launch(t, cmd, address)
	if got := receive(); got != "READY=1" {
		t.Fatalf("got %s first, want READY=1", got)
	}
	s.WantStatus(t, "/readyz", http.StatusOK)
	for range 3 {
		if got := receive(); got != "WATCHDOG=1" {
			t.Errorf("got %s, want WATCHDOG=1", got)
		}
	}
	s.Signal(t, syscall.SIGTERM)
	for got := ""; got != "STOPPING=1"; got = receive() {
		if !slices.Contains([]string{"", "WATCHDOG=1"}, got) {
			t.Fatalf("got %s, want STOPPING=1", got)
		}
	}
	s.WantExitOK(t)
}
