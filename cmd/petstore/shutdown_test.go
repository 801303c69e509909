package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// shutdownLosesNoRequest stops a server while many clients send requests on open
// connections. New connections may be refused, but every request that was sent on an open
// connection must get its response.
func shutdownLosesNoRequest(t *testing.T) {
	for _, delay := range []string{"0s", "1s"} {
		t.Run("delay "+delay, func(t *testing.T) {
			t.Parallel()
			store := newTestStore(t)
			s := store.startServer(t, "--set", "server.shutdown_delay="+delay)
			var added atomic.Int64
			var wait sync.WaitGroup
			for i := range clients {
				client := &http.Client{Transport: &http.Transport{}}
				wait.Go(func() { s.addUntilRefused(t, client, fmt.Sprint(i), &added) })
			}
			waitUntil(t, "the clients have added pets", func() bool { return added.Load() > 10*clients })
			before := added.Load()
			s.signal(t, syscall.SIGTERM)
			wait.Wait()
			s.wantExitOK(t)
			if added.Load() < before+clients {
				t.Errorf("got %d pets added after the signal, want at least %d", added.Load()-before, clients)
			}
			restarted := store.startServer(t)
			restarted.key = s.key
			if stored := int64(len(restarted.records(t, "/v1/pets?limit=100"))); stored != added.Load() {
				t.Errorf("got %d pets in the store, want %d", stored, added.Load())
			}
			t.Logf("%d pets were added, %d of them after the signal", added.Load(), added.Load()-before)
		})
	}
}

// addUntilRefused adds pets until a new connection is refused. It reuses the connection as
// long as the server leaves it open.
func (s *serverProcess) addUntilRefused(t *testing.T, client *http.Client, name string, added *atomic.Int64) {
	for {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", strings.NewReader(petBody(name)))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Authorization", "Bearer "+s.key)
		request.Header.Set("Content-Type", "application/json")
		status, body, err := sendRequest(client, request)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err != nil || status != http.StatusCreated {
			t.Errorf("got %d, %v, %s, want 201", status, err, body)
			return
		}
		added.Add(1)
	}
}

func TestDrainingServerIsNotReadyButServesRequests(t *testing.T) {
	t.Parallel()
	s, admin := startServerWithAdmin(t, "--set", "server.shutdown_delay=1s")
	s.signal(t, syscall.SIGTERM)
	waitUntil(t, "/readyz returns 503", func() bool {
		status, _, err := s.do(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusServiceUnavailable
	})
	for _, path := range []string{"/livez", "/v1/pets"} {
		s.wantStatus(t, path, http.StatusOK)
	}
	if status, _ := get(t, admin+"/metrics"); status != http.StatusOK {
		t.Errorf("GET /metrics: got %d, want 200", status)
	}
	s.wantExitOK(t)
}

func TestSecondSignalKillsTheServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, t.TempDir(), "--set", "server.shutdown_delay=10m")
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Wait() }()
	for {
		// Signals are sent repeatedly, because the test cannot see when the first is handled.
		if err := s.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		select {
		case <-done:
			if state := s.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != syscall.SIGINT {
				t.Errorf("got %v, want signal: interrupt", s.ProcessState)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
