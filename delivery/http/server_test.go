package http_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
)

var patient = server.Timeouts{
	ReadHeader: 20 * time.Second, Read: 20 * time.Second, Write: 20 * time.Second, Idle: 20 * time.Second, Shutdown: 20 * time.Second,
}

// serve serves the shop with server.Serve until stop is called, and tells then what
// Serve returned.
func (s *testServer) serve(t *testing.T, handler http.Handler, timeouts server.Timeouts) (stop context.CancelFunc, stopped <-chan error) {
	t.Helper()
	listener := loopback(t)
	ctx, stop := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() { returned <- server.Serve(ctx, server.LazyDeadlines(listener), handler, timeouts, s.logger) }()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s.url, s.client = "http://"+listener.Addr().String(), &http.Client{Transport: transport, Timeout: 30 * time.Second}
	return stop, returned
}

// dial opens a connection to the server and sends what a client wrote by hand.
func (s *testServer) dial(t *testing.T, sent string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(sent)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// receive reads an answer from a connection, as if to a POST of a pet.
func (s *testServer) receive(t *testing.T, conn net.Conn, w want) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatal(err)
	}
	a, err := readAll(res)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, a)
	a.check(t, w)
}

// begin is a POST of a pet of which only the beginning is sent.
func (s *testServer) begin(header, body string) string {
	return "POST /v1/pets HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer " + s.key +
		"\r\nContent-Type: application/json\r\n" + header + "\r\n\r\n" + body
}

func TestBodyThatDoesNotArriveInTimeIsATimeout(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	impatient := patient
	impatient.Read = time.Second
	stop, stopped := s.serve(t, s.engine(t, nil, defaultServices), impatient)
	conns := []net.Conn{
		s.dial(t, s.begin("Content-Length: 100", `{"name":`)),
		s.dial(t, s.begin("Content-Length: 100", "")),
		s.dial(t, s.begin("Transfer-Encoding: chunked", "8\r\n{\"name\":\r\n")),
	}
	for _, conn := range conns {
		s.receive(t, conn, refused(408, "request_timeout"))
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestBodyThatEndsTooSoonIsInvalid(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, sent := range []string{
		s.begin("Content-Length: 100", newRex), s.begin("Content-Length: 100", ""), s.begin("Transfer-Encoding: chunked", "4\r\n{\"na"),
	} {
		conn := s.dial(t, sent)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		s.receive(t, conn, refused(400, "invalid_json").without("EOF"))
	}
	s.receive(t, s.dial(t, s.begin("Transfer-Encoding: chunked", "x\r\n")), refused(400, "invalid_json"))
	s.expect(t, get("/v1/pets"), ok(`[]`))
}

func TestConnectionIsKeptFromRequestToRequest(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	conn := s.dial(t, "")
	for range 3 {
		for body, w := range map[string]want{newRex: created(""), `{`: refused(400, "invalid_json"), `{}`: refused(400, "validation_failed")} {
			if _, err := conn.Write([]byte(s.begin(fmt.Sprintf("Content-Length: %d", len(body)), body))); err != nil {
				t.Fatal(err)
			}
			s.receive(t, conn, w)
		}
	}
}

// A counter is where a request to get a pet waits until it is let go.
type counter struct{ arrived, letGo chan struct{} }

func newCounter() counter { return counter{make(chan struct{}, 1), make(chan struct{})} }

func (c counter) get(ctx context.Context, id int64) (domain.Pet, error) {
	c.arrived <- struct{}{}
	select {
	case <-c.letGo:
		return domain.Pet{ID: id, Name: "Rex", CategoryID: 7}, nil
	case <-ctx.Done():
		return domain.Pet{}, domain.Unavailable(ctx.Err())
	}
}

func TestRunningRequestFinishesWhenTheServerStops(t *testing.T) {
	t.Parallel()
	c, s := newCounter(), newUnstartedServer(t)
	stop, stopped := s.serve(t, s.engine(t, nil, func(services *rest.Services) {
		services.Pets = catalogue{Pets: services.Pets, get: c.get}
	}), patient)
	answered := make(chan answer, 1)
	go func() {
		defer close(answered)
		if a, err := s.send(t.Context(), get("/v1/pets/42")); err == nil {
			answered <- a
		}
	}()
	<-c.arrived
	stop()
	s.waitUntilRefused(t)
	select {
	case err := <-stopped:
		t.Fatalf("the server stopped (%v) while a request ran", err)
	default:
	}
	close(c.letGo)
	a, here := <-answered
	if !here {
		t.Fatal("the running request got no answer")
	}
	s.check(t, a)
	a.check(t, ok(`{"id":42,"name":"Rex","categoryId":7}`))
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// waitUntilRefused returns as soon as the server accepts no new connection.
func (s *testServer) waitUntilRefused(t *testing.T) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return
		}
		conn.Close()
	}
	t.Fatal("the server still accepts connections")
}

func TestRequestThatTakesTooLongIsCutOffWhenTheServerStops(t *testing.T) {
	t.Parallel()
	c, s := newCounter(), newUnstartedServer(t)
	hasty := patient
	hasty.Shutdown = 50 * time.Millisecond
	stop, stopped := s.serve(t, s.engine(t, nil, func(services *rest.Services) {
		services.Pets = catalogue{Pets: services.Pets, get: c.get}
	}), hasty)
	failed := make(chan error, 1)
	go func() {
		_, err := s.send(t.Context(), get("/v1/pets/42"))
		failed <- err
	}()
	<-c.arrived
	stop()
	if err := <-stopped; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got the error %v, want that the requests took too long", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}

func TestServeFailsWithItsListener(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	listener := loopback(t)
	listener.Close()
	if err := server.Serve(t.Context(), listener, http.NotFoundHandler(), patient, s.logger); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got the error %v, want that the listener is closed", err)
	}
}

// exhausted is a listener that once has no descriptor left, and then is closed.
type exhausted struct {
	net.Listener
	told bool
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.told {
		return nil, net.ErrClosed
	}
	l.told = true
	return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
}

func TestConnectionThatCannotBeAcceptedIsAWarning(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	if err := server.Serve(t.Context(), &exhausted{Listener: loopback(t)}, http.NotFoundHandler(), patient, s.logger); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v", err)
	}
	if got := s.log.FilterLevelExact(zap.WarnLevel).FilterMessageSnippet("Accept error").Len(); got != 1 {
		t.Errorf("the log warns of it %d times: %v", got, s.log.All())
	}
}
