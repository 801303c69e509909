package faults

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

// TestCutRequestAddsNothing closes the connection after each byte of a request.
func TestCutRequestAddsNothing(t *testing.T) {
	folder := t.TempDir()
	s := start(t, folder, "")
	before := s.resources(t, folder)
	length := 0
	for cut := 1; cut == 1 || cut < length; cut++ {
		body := fmt.Sprintf(`{"name":"cut-%04d","categoryId":1}`, cut)
		request := fmt.Sprintf("POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.Key, len(body), body)
		length = len(request)
		conn := s.dial(t)
		_, err := conn.Write([]byte(request[:cut]))
		harness.Check(t, err)
		harness.Check(t, conn.Close())
	}
	s.resourcesWithin(t, folder, before)
	s.WantStatus(t, "/readyz", http.StatusOK)
	s.Stop(t)
	stored, err := readStore(t.Context(), harness.StorePath(folder))
	harness.Check(t, err)
	if len(stored) != 0 {
		t.Errorf("got the animals %v of requests that were cut, want none", stored)
	}
	figures.add(t, "%d requests cut, 0 animals added", length-1)
}

// TestLargeRequestsAreRefused sends headers and bodies of 1 MB.
func TestLargeRequestsAreRefused(t *testing.T) {
	s := start(t, t.TempDir(), "")
	large := strings.Repeat("x", 1<<20)
	authorized := "POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + s.Key + "\r\n"
	for name, test := range map[string]struct {
		request string
		want    int
	}{
		"header":       {"GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-Large: " + large + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"address":      {"GET /v1/pets?" + large + " HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"body":         {authorized + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(large)) + large, http.StatusRequestEntityTooLarge},
		"chunked body": {authorized + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(large)) + large + "\r\n0\r\n\r\n", http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			conn := s.dial(t)
			defer conn.Close()
			go func() { _, _ = conn.Write([]byte(test.request)) }() // the server may not read all
			harness.Check(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			harness.Check(t, err)
			response.Body.Close()
			if response.StatusCode != test.want {
				t.Errorf("got %d, want %d", response.StatusCode, test.want)
			}
		})
	}
}

func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	harness.Check(t, err)
	return conn
}
