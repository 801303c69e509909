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
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
	traceparent  = "Traceparent: 00-" + callersTrace + "-" + callersSpan + "-01"
)

// openTraced opens a shop whose requests and statements are traced.
func openTraced(t *testing.T) (*testServer, *tracetest.InMemoryExporter) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	s := newUnstartedServer(t)
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	s.store, err = repository.Open(context.Background(), sqlite.New(s.file), repository.Options{TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	s.keys, s.health = usecase.NewKeys(s.store, s.store.Keys(), s.clock.now), server.NewHealth(s.store.Ping)
	s.listen(t, s.engine(t, nil, defaultServices, rest.WithTracerProvider(provider)))
	exporter.Reset()
	return s, exporter
}

func TestRequestIsPartOfItsCallersTrace(t *testing.T) {
	t.Parallel()
	s, exporter := openTraced(t)
	s.expect(t, post(newRex, traceparent), created(""))
	s.expect(t, get("/v1/pets/1", traceparent), ok(""))

	var names []string
	requests := map[string]string{} // by span id
	spans := exporter.GetSpans()
	for _, span := range spans {
		if id := span.SpanContext.TraceID().String(); id != callersTrace {
			t.Errorf("%s is of the trace %s", span.Name, id)
		}
		if span.Parent.SpanID().String() == callersSpan {
			names = append(names, span.Name)
			requests[span.SpanContext.SpanID().String()] = span.Name
		}
	}
	if !slices.Equal(names, []string{"POST /v1/pets", "GET /v1/pets/:petId"}) {
		t.Errorf("the caller's span has the children %q", names)
	}
	statements := map[string]int{}
	for _, span := range spans {
		statements[requests[span.Parent.SpanID().String()]]++
	}
	for _, request := range names {
		if statements[request] == 0 {
			t.Errorf("%s has no statement among %v", request, statements)
		}
	}
}

func TestTraceIDIsInTheAccessLog(t *testing.T) {
	t.Parallel()
	s, exporter := openTraced(t)
	s.expect(t, get("/v1/pets", traceparent), ok(""))
	s.expect(t, get("/v1/pets"), ok(""))
	s.expect(t, get("/nowhere", "Traceparent: nonsense"), want{status: 404})
	lines := s.accessLog(t)
	if lines[0]["trace_id"] != callersTrace {
		t.Errorf("got the line %v, want the caller's trace", lines[0])
	}
	for _, line := range lines[1:] {
		if !slices.ContainsFunc(exporter.GetSpans(), func(span tracetest.SpanStub) bool {
			return span.SpanContext.TraceID().String() == line["trace_id"] && line["trace_id"] != callersTrace
		}) {
			t.Errorf("the trace of the line %v is nobody's", line)
		}
	}
}

func TestNothingIsTracedByDefault(t *testing.T) {
	t.Parallel()
	for _, options := range [][]rest.Option{nil, {rest.WithTracerProvider(nil)}} {
		s := newTestServer(t, options...)
		s.expect(t, get("/v1/pets", traceparent), ok(""))
		if line := s.accessLog(t)[0]; line["trace_id"] != nil {
			t.Errorf("got the line %v", line)
		}
	}
}

func TestTracesTellNoSecret(t *testing.T) {
	t.Parallel()
	s, exporter := openTraced(t)
	for range 2 {
		for _, r := range secretive(s.key) {
			_, _ = s.send(t.Context(), r)
		}
		s.exec(t, `DROP TABLE IF EXISTS orders`) // then some of them fail
	}
	spans := exporter.GetSpans()
	if len(spans) < 20 {
		t.Errorf("got only %d spans", len(spans))
	}
	for _, span := range spans {
		told := fmt.Sprint(span.Name, span.Attributes, span.Events, span.Status, span.Links, span.Resource)
		for _, secret := range []string{s.key[9:], "hush", "petstore_"} {
			if strings.Contains(told, secret) {
				t.Errorf("the span %s tells %q: %s", span.Name, secret, told)
			}
		}
	}
}
