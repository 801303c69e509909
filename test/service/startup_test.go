package service

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// TestStartingServerIsAliveButNotReady starts a server that never opens its store: the server of its DSN accepts a
// connection and sends nothing.
func TestStartingServerIsAliveButNotReady(t *testing.T) {
	t.Parallel()
	const origin = "https://shop.example.com"
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	harness.Check(t, err)
	defer silent.Close()
	address, args := harness.FreeAddress(t), []string{"serve"}
	for _, setting := range []string{
		"server.address=" + address, "admin.address=127.0.0.1:0", "cors.allowed_origins=" + origin, "server.request_timeout=1s", "server.write_timeout=3s",
		"database.driver=postgres", "database.dsn=postgres://" + silent.Addr().String() + "/pets?sslmode=disable&connect_timeout=3600",
	} {
		args = append(args, "--set", setting)
	}
	s := harness.Launch(t, harness.Command(t.Context(), t.TempDir(), args...), address)
	if _, metrics := harness.Get(t, s.AdminURL(t)+"/metrics"); !strings.Contains(metrics, "\npetstore_ready 0\n") {
		t.Errorf("got the metrics %s, want petstore_ready 0", metrics)
	}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/v1/pets": 503} {
		s.WantStatus(t, path, want)
	}

	request, err := s.Request(t.Context(), http.MethodGet, "/v1/pets", "", "Origin", origin, "X-Forwarded-For", "192.0.2.7")
	harness.Check(t, err)
	response, err := harness.Client.Do(request)
	harness.Check(t, err)
	response.Body.Close()
	if got := response.Header.Get("Access-Control-Allow-Origin"); response.StatusCode != http.StatusServiceUnavailable || got != origin {
		t.Errorf("got %d with Access-Control-Allow-Origin %q, want 503 with %s", response.StatusCode, got, origin)
	}

	// net/http waits for the rest of a body before it sends a response, until the read deadline.
	conn := dial(t, s)
	_, err = fmt.Fprint(conn, "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nContent-Length: 100\r\n\r\n{")
	harness.Check(t, err)
	harness.Check(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	response, err = http.ReadResponse(bufio.NewReader(conn), nil)
	harness.Check(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("half of a request: got %d, want 503", response.StatusCode)
	}
	if log := s.Log.String(); !strings.Contains(log, `"client":"127.0.0.1"`) || strings.Contains(log, "192.0.2.7") {
		t.Errorf("got the log %s, want the address of the client that is no trusted proxy", log)
	}
}

// dial opens a connection to a server, which is closed at the end of the test.
func dial(t *testing.T, s *harness.Server) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Address())
	harness.Check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
