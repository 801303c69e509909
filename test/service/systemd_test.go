package service

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
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

// TestServiceUsesTheSocketOfSystemd does what systemd does for petstore.socket. The socket outlives the service.
func TestServiceUsesTheSocketOfSystemd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	testkit.Check(t, err)
	defer func() { _ = listener.Close() }()
	socket, err := listener.File()
	testkit.Check(t, err)
	defer socket.Close()
	command := func(sockets ...*os.File) *exec.Cmd {
		cmd := harness.CommandAfter(t.Context(), dir, fmt.Sprintf("export LISTEN_PID=$$ LISTEN_FDS=%d", len(sockets)), "serve", "--first-key",
			"--set", "server.address=192.0.2.1:8080") // no address of this machine
		cmd.ExtraFiles = sockets // from the descriptor 3 on
		return cmd
	}
	for range 2 {
		s := harness.StartCommand(t, command(socket))
		if s.Address() != listener.Addr().String() {
			t.Errorf("got the address %s, want that of the socket, %s", s.Address(), listener.Addr())
		}
		s.WantStatus(t, "/readyz", http.StatusOK)
		s.Stop(t)
	}
	const want = "petstore: systemd has passed something else than one listening socket: leave one ListenStream= in the socket unit\n"
	if _, stderr, code := harness.RunCommand(t, command(socket, socket)); code != 1 || stderr != want {
		t.Errorf("two sockets: got code %d, stderr %q; want 1 and %q", code, stderr, want)
	}
}
