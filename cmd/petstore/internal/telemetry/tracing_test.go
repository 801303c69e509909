package telemetry

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore/internal/test/testkit"
)

// exported returns the body of the request that exports a span, and the log. The collector gets nothing if tracing is off.
func exported(t *testing.T) (body, log string) {
	t.Helper()
	bodies := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	}))
	defer collector.Close()
	core, logged := observer.New(zap.DebugLevel)
	provider, flush, err := NewTracerProvider(t.Context(), collector.URL, zap.New(core))
	testkit.Check(t, err)
	if provider != nil {
		_, span := provider.Tracer("test").Start(t.Context(), "span")
		span.End()
		flush()
		body = <-bodies
	}
	for _, entry := range logged.All() {
		log += entry.Message + "\n"
		for _, field := range entry.Context {
			log += field.Key + "=" + field.String + "\n"
		}
	}
	return body, log
}

// The tests are not parallel, because they set environment variables.
func TestSpansAreOfTheServiceThatTheEnvironmentNames(t *testing.T) {
	if body, _ := exported(t); !strings.Contains(body, "service.name") || !strings.Contains(body, "petstore") {
		t.Errorf("got %q, want the service petstore", body)
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=ignored,deployment.environment.name=staging,hush")
	t.Setenv("OTEL_SERVICE_NAME", "shop")
	body, log := exported(t)
	for text, want := range map[string]bool{"shop": true, "staging": true, "petstore": false, "ignored": false} {
		if strings.Contains(body, text) != want {
			t.Errorf("got %q, want it to contain %s: %t", body, text, want)
		}
	}
	if !strings.Contains(log, "a part of OTEL_RESOURCE_ATTRIBUTES is ignored") || strings.Contains(log, "hush") {
		t.Errorf("got the log %q, want a warning without the values", log)
	}
}

func TestEnvironmentDisablesTracing(t *testing.T) {
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if body, _ := exported(t); body != "" {
		t.Errorf("got %q, want no span", body)
	}
}
