package service

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "server.max_connections=2")
	var conns []net.Conn
	for range 3 {
		conn := dial(t, s)
		if _, err := fmt.Fprint(conn, "GET /livez HTTP/1.1\r\nHost: shop\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns[:2] {
		if status, err := readStatus(conn, 10*time.Second); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	if status, err := readStatus(conns[2], 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("connection beyond the limit: got %d, %v, want no response", status, err)
	}
	harness.Check(t, conns[0].Close())
	if status, err := readStatus(conns[2], 10*time.Second); err != nil || status != http.StatusOK {
		t.Errorf("connection after one was closed: got %d, %v, want 200", status, err)
	}
}

// A connection that is closed with an unread request is reset, and the client may lose the response, unless the sending side is closed first.
func TestLimitedConnectionWithTooLargeHeaderIsNotReset(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "server.max_connections=100")
	conn := dial(t, s)
	harness.Check(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	if _, err := fmt.Fprintf(conn, "GET /livez HTTP/1.1\r\nHost: shop\r\nX-Large: %s\r\n\r\n", strings.Repeat("x", 60_000)); err != nil {
		t.Fatal(err)
	}
	if response, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 431 ") {
		t.Errorf("got %.20q and %v, want 431 and the end of the connection", response, err)
	}
}

// readStatus reads the next response of a connection and returns its status.
func readStatus(conn net.Conn, timeout time.Duration) (int, error) {
	if err := conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
