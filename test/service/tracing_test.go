package service

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func TestShutdownExportsTheLastTraces(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	var exported harness.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = exported.Write([]byte(r.URL.Path + " "))
		_, _ = io.Copy(&exported, r.Body)
	}))
	t.Cleanup(collector.Close)
	s := harness.Start(t, t.TempDir(), "--set", "tracing.otlp_endpoint="+collector.URL)
	parent := []string{"Traceparent", "00-" + trace + "-00f067aa0ba902b7-01"}
	if status, body, err := s.Post(t.Context(), harness.PetBody("hush"), parent...); err != nil || status != http.StatusCreated {
		t.Fatal(status, body, err)
	}
	for _, path := range []string{"/v1/pets/1", "/v1/pets?x=" + s.Key, "/v1/pets/" + s.Key} {
		if _, _, err := s.Do(t.Context(), http.MethodGet, path, "", append(parent, "User-Agent", s.Key)...); err != nil {
			t.Fatal(err)
		}
	}
	s.Stop(t)

	id, err := hex.DecodeString(trace)
	harness.Check(t, err)
	spans := exported.String()
	for _, want := range []string{"/v1/traces ", string(id), "POST /v1/pets", "GET /v1/pets/:petId", "INSERT INTO pets", "SELECT `pets`.`id`"} {
		if !strings.Contains(spans, want) {
			t.Errorf("the exported spans do not contain %q", want)
		}
	}
	for _, secret := range []string{s.Key[9:], "hush"} {
		if strings.Contains(spans, secret) {
			t.Errorf("the exported spans contain %q", secret)
		}
	}
	if got := strings.Count(s.Log.String(), `"trace_id":"`+trace+`"`); got != 4 {
		t.Errorf("got %d log lines with the trace id, want 4:\n%s", got, s.Log)
	}
}

func TestServerServesWhenTheCollectorRejectsTraces(t *testing.T) {
	t.Parallel()
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	s := harness.StartWithEnv(t, t.TempDir(), "PETSTORE_TRACING_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=hush%TOKEN,hush")
	s.WantStatus(t, "/v1/pets", http.StatusOK)
	s.Stop(t)
	if log := s.Log.String(); !strings.Contains(log, `"msg":"cannot export traces"`) || strings.Contains(log, "hush") {
		t.Errorf("got a log without the error, or with the headers for the collector:\n%s", log)
	}
}
