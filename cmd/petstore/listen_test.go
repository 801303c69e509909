package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestOnlySoManyConnectionsAreOpen(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "--set", "server.max_connections=2")
	var open []net.Conn
	for range 3 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := fmt.Fprint(conn, "GET /livez HTTP/1.1\r\nHost: shop\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	for _, conn := range open[:2] {
		if status, err := answerOf(conn, 10*time.Second); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	if status, err := answerOf(open[2], 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection too many was answered: %d, %v", status, err)
	}
	if err := open[0].Close(); err != nil {
		t.Fatal(err)
	}
	if status, err := answerOf(open[2], 10*time.Second); err != nil || status != http.StatusOK {
		t.Errorf("the connection that waited: %d, %v", status, err)
	}
}

// answerOf is the status of the next answer on a connection.
func answerOf(conn net.Conn, patience time.Duration) (int, error) {
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
