package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

func TestTracesReachTheCollectorBeforeTheEnd(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	var exported logs
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = exported.Write([]byte(r.URL.Path + " "))
		_, _ = io.Copy(&exported, r.Body)
	}))
	t.Cleanup(collector.Close)
	s := start(t, t.TempDir(), "--set", "tracing.otlp_endpoint="+collector.URL)
	parent := []string{"Traceparent", "00-" + trace + "-00f067aa0ba902b7-01"}
	if status, answer, err := s.post(t.Context(), petBody("hush"), parent...); err != nil || status != http.StatusCreated {
		t.Fatal(status, answer, err)
	}
	for _, path := range []string{"/v1/pets/1", "/v1/pets?x=" + s.key, "/v1/pets/" + s.key} {
		if _, _, err := s.do(t.Context(), http.MethodGet, path, "", append(parent, "User-Agent", s.key)...); err != nil {
			t.Fatal(err)
		}
	}
	stop(t, s)

	id, err := hex.DecodeString(trace)
	if err != nil {
		t.Fatal(err)
	}
	spans := exported.String()
	for _, want := range []string{"/v1/traces ", string(id), "POST /v1/pets", "GET /v1/pets/:petId", "INSERT INTO pets", "SELECT id, name"} {
		if !strings.Contains(spans, want) {
			t.Errorf("the collector did not get %q", want)
		}
	}
	for _, secret := range []string{s.key[9:], "hush"} {
		if strings.Contains(spans, secret) {
			t.Errorf("the collector got %q", secret)
		}
	}
	if got := strings.Count(s.log.String(), `"trace_id":"`+trace+`"`); got != 4 {
		t.Errorf("%d lines of the log tell the trace, want 4:\n%s", got, s.log)
	}
}

func TestServiceDoesWithoutItsCollector(t *testing.T) {
	t.Parallel()
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	s := startWith(t, t.TempDir(), "PETSTORE_TRACING_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=hush%TOKEN,hush")
	if status, answer, err := s.do(t.Context(), http.MethodGet, "/v1/pets", ""); err != nil || status != http.StatusOK {
		t.Fatal(status, answer, err)
	}
	stop(t, s)
	if log := s.log.String(); !strings.Contains(log, `"msg":"traces were lost"`) || strings.Contains(log, "hush") {
		t.Errorf("the log tells nothing of it, or the headers for a collector:\n%s", log)
	}
}

// stop ends a server in the orderly way.
func stop(t *testing.T, s *process) {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("the server ended with %v: %s", err, s.log)
	}
}
