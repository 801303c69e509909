package http_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

const (
	parentTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentSpan  = "00f067aa0ba902b7"
	traceparent = "Traceparent: 00-" + parentTrace + "-" + parentSpan + "-01"
)

// newTracedServer returns a server whose requests and SQL statements are traced.
func newTracedServer(t *testing.T) (*testServer, *tracetest.InMemoryExporter) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	s := newUnstartedServer(t)
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	s.store, err = repository.Open(context.Background(), s.database.Engine(), repository.Options{TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	s.keys, s.health = usecase.NewKeys(s.store, s.store.Keys(), s.clock.now), server.NewHealth(s.store.Ping)
	s.start(t, s.engine(t, nil, func(o *rest.Options) { o.TracerProvider = provider }))
	exporter.Reset()
	return s, exporter
}

func TestRequestJoinsTraceOfCaller(t *testing.T) {
	t.Parallel()
	s, exporter := newTracedServer(t)
	s.expect(t, postPet(newRex, traceparent), created(""))
	s.expect(t, get("/v1/store/orders?petId=1", traceparent), ok("")) // on PostgreSQL, queries that several requests share belong to none

	var names []string
	requests := map[string]string{} // names by span id
	spans := exporter.GetSpans()
	for _, span := range spans {
		if id := span.SpanContext.TraceID().String(); id != parentTrace {
			t.Errorf("%s: got trace %s, want %s", span.Name, id, parentTrace)
		}
		if span.Parent.SpanID().String() == parentSpan {
			names = append(names, span.Name)
			requests[span.SpanContext.SpanID().String()] = span.Name
		}
	}
	if !slices.Equal(names, []string{"POST /v1/pets", "GET /v1/store/orders"}) {
		t.Errorf("got child spans %q", names)
	}
	statements := map[string]int{}
	for _, span := range spans {
		statements[requests[span.Parent.SpanID().String()]]++
	}
	for _, request := range names {
		if statements[request] == 0 {
			t.Errorf("%s: got no statement span in %v", request, statements)
		}
	}
}

func TestAccessLogHasTraceID(t *testing.T) {
	t.Parallel()
	s, exporter := newTracedServer(t)
	s.expect(t, get("/v1/pets", traceparent), ok(""))
	s.expect(t, get("/v1/pets"), ok(""))
	s.expect(t, get("/nowhere", "Traceparent: invalid"), wantResponse{status: 404})
	lines := s.accessLog(t)
	if lines[0]["trace_id"] != parentTrace {
		t.Errorf("got line %v, want trace_id %s", lines[0], parentTrace)
	}
	for _, line := range lines[1:] {
		if !slices.ContainsFunc(exporter.GetSpans(), func(span tracetest.SpanStub) bool {
			return span.SpanContext.TraceID().String() == line["trace_id"] && line["trace_id"] != parentTrace
		}) {
			t.Errorf("got line %v, want the trace_id of an exported span", line)
		}
	}
}

func TestTracingIsOffByDefault(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/v1/pets", traceparent), ok(""))
	if line := s.accessLog(t)[0]; line["trace_id"] != nil {
		t.Errorf("got line %v, want no trace_id", line)
	}
}

func TestTracesContainNoSecrets(t *testing.T) {
	t.Parallel()
	s, exporter := newTracedServer(t)
	for range 2 {
		for _, r := range requestsWithSecrets(s.key) {
			_, _ = s.send(t.Context(), r)
		}
		s.database.Exec(t, `DROP TABLE IF EXISTS orders`) // some requests of the second round fail
	}
	spans := exporter.GetSpans()
	if len(spans) < 20 {
		t.Errorf("got %d spans, want at least 20", len(spans))
	}
	for _, span := range spans {
		text := fmt.Sprint(span.Name, span.Attributes, span.Events, span.Status, span.Links, span.Resource)
		for _, secret := range []string{s.key[9:], "hush", "petstore_"} {
			if strings.Contains(text, secret) {
				t.Errorf("got a span %s that contains %q: %s", span.Name, secret, text)
			}
		}
	}
}

func TestSpanHasNoUnknownMethod(t *testing.T) {
	t.Parallel()
	s, exporter := newTracedServer(t)
	for method, name := range map[string]string{strings.Repeat("X", 10_000): "HTTP", "DELETE": "DELETE"} {
		exporter.Reset()
		s.expect(t, newRequest(method, "/nowhere"), rejected(404, "not_found"))
		spans := exporter.GetSpans()
		if len(spans) != 1 || spans[0].Name != name {
			t.Fatalf("got %d spans, %.100v, want one with the name %s", len(spans), spans, name)
		}
		if method != name && strings.Contains(fmt.Sprint(spans[0].Attributes), method) {
			t.Errorf("the method is in the attributes %.1000v", spans[0].Attributes)
		}
	}
}
