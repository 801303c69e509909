package http_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// dial connects to the server and writes data.
func (s *testServer) dial(t *testing.T, data string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// rawPost returns the text of a POST of a pet, with header lines and body as given.
func (s *testServer) rawPost(header, body string) string {
	return "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer " + s.key +
		"\r\nContent-Type: application/json\r\n" + header + "\r\n\r\n" + body
}

// expectFrom reads the response to a POST of a pet from a connection and checks it as
// expect does.
func (s *testServer) expectFrom(t *testing.T, conn net.Conn, want wantResponse) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", nil)
	if err != nil {
		t.Fatal(err)
	}
	httpResponse, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatal(err)
	}
	res, err := readBody(httpResponse)
	if err != nil {
		t.Fatal(err)
	}
	s.checkCommonRules(t, res)
	res.check(t, want)
}
