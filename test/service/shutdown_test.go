package service

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestDrainingServerIsNotReadyButServesRequests(t *testing.T) {
	t.Parallel()
	s, admin := harness.StartWithAdmin(t, "--set", "server.shutdown_delay=1s")
	s.Signal(t, syscall.SIGTERM)
	harness.Eventually(t, "/readyz returns 503", func() bool {
		status, _, err := s.Do(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusServiceUnavailable
	})
	for _, path := range []string{"/livez", "/v1/pets"} {
		s.WantStatus(t, path, http.StatusOK)
	}
	if status, _ := harness.Get(t, admin+"/metrics"); status != http.StatusOK {
		t.Errorf("GET /metrics: got %d, want 200", status)
	}
	s.WantExitOK(t)
}

// TestShortestShutdownTimeoutSufficesForSilentConnection opens a connection at the beginning
// of a second: net/http counts in whole seconds for how long a new connection may be silent.
func TestShortestShutdownTimeoutSufficesForSilentConnection(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "server.shutdown_timeout=7s", "--set", "server.read_header_timeout=1m")
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	dial(t, s)
	s.WantStatus(t, "/livez", 200) // the server has accepted both connections
	s.Signal(t, syscall.SIGTERM)
	s.WantExitOK(t)
}
