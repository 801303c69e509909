package http_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestShutdownWaitsForRunningRequest(t *testing.T) {
	t.Parallel()
	pets, s := newBlockingGet(), newUnstartedServer(t)
	stop, served := s.serve(t, s.engine(t, nil, withGet(pets.get)), longTimeouts)
	responses := make(chan response, 1)
	go func() {
		defer close(responses)
		if res, err := s.send(t.Context(), get("/v1/pets/42")); err == nil {
			responses <- res
		}
	}()
	<-pets.started
	stop()
	s.waitUntilClosed(t)
	select {
	case err := <-served:
		t.Fatalf("Serve returned %v while a request was running", err)
	default:
	}
	close(pets.release)
	res, received := <-responses
	if !received {
		t.Fatal("the running request got no response")
	}
	s.checkCommonRules(t, res)
	res.check(t, ok(`{"id":42,"name":"Rex","categoryId":7}`))
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// waitUntilClosed returns when the server accepts no more connections.
func (s *testServer) waitUntilClosed(t *testing.T) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 20*time.Second; {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return
		}
		conn.Close()
	}
	t.Fatal("the server still accepts connections")
}

func TestShutdownClosesConnectionsAfterTimeout(t *testing.T) {
	t.Parallel()
	pets, s := newBlockingGet(), newUnstartedServer(t)
	timeouts := longTimeouts
	timeouts.Shutdown = 50 * time.Millisecond
	stop, served := s.serve(t, s.engine(t, nil, withGet(pets.get)), timeouts)
	failed := make(chan bool, 1)
	go func() {
		res, err := s.send(t.Context(), get("/v1/pets/42"))
		failed <- err != nil || res.StatusCode == http.StatusServiceUnavailable
	}()
	<-pets.started
	stop()
	if err := <-served; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve returned %v, want %v", err, context.DeadlineExceeded)
	}
	if !<-failed {
		t.Error("the running request did not fail")
	}
	if line := s.waitForAccessLog(t); line["status"] != int64(http.StatusServiceUnavailable) {
		t.Errorf("got the access log %v, want the status 503", line)
	}
}
